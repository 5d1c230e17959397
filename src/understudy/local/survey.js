
// ------------------------------------------------------------------ the page

const form = JSON.parse(document.getElementById("form").textContent);
const at = (id) => document.getElementById(id);
const KEY = `understudy.survey.${form.survey}`;

function showForm() {
  form.columns.forEach((column, place) => at("columns").append(showColumn(column, place)));
  at("promise").textContent = promise(form.levels[0]);
  if (form.levels.length > 1) {
    at("levels").hidden = false;
    form.levels.forEach((epsilon, place) => {
      const input = make("input", { type: "radio", name: "level", value: String(place) });
      input.checked = place === 0;
      const text = `Epsilon ${epsilon}: at most ${atMostSure(epsilon)} % sure`;
      at("level-list").append(
        make("label", { className: "choice" }, input, make("span", { textContent: text })),
      );
      input.addEventListener("change", () => {
        at("promise").textContent = promise(epsilon);
      });
    });
  }
  at("answers").hidden = false;
}

function entered() {
  const data = new FormData(at("answers"));
  const found = {};
  form.columns.forEach((column, place) => {
    found[column.name] = data.get(`column-${place}`);
  });
  return found;
}

/** Say which answers are missing or cannot be used, and go to the first of them. */
function checkAnswers(answers) {
  const { misfits } = encode(form, answers);
  form.columns.forEach((column, place) => {
    for (const input of document.getElementsByName(`column-${place}`)) {
      input.setAttribute("aria-invalid", String(misfits.includes(column.name)));
    }
  });
  if (!misfits.length) return;
  const first = form.columns.findIndex((column) => column.name === misfits[0]);
  document.getElementsByName(`column-${first}`)[0].focus();
  const named = misfits.map((name) => {
    const column = form.columns.find((one) => one.name === name);
    return `"${column.wording || column.name}"`;
  });
  throw new Error(
    `Please look again at ${named.join(", ")}: an answer is missing or outside the range.`,
  );
}

function readToken() {
  const text = at("token").value.toLowerCase().replace(/[\s-]/g, "");
  if (text === "" && !form.token_needed) return null;
  if (text.length !== form.token_letters || !/^[0-9a-f]+$/.test(text)) {
    throw new Error(
      `The code has ${form.token_letters} digits and letters from a to f. Please copy it again.`,
    );
  }
  return text;
}

// The page keeps the report, so that this browser gives no second one. Nothing else is kept.

function booked() {
  try {
    return localStorage.getItem(KEY);
  } catch {
    return null;
  }
}

function book(line) {
  try {
    localStorage.setItem(KEY, line);
    return localStorage.getItem(KEY) === line;
  } catch {
    return false;
  }
}

function showReport(line, again) {
  const report = JSON.parse(line);
  const question = form.questions[report.q];
  const wording = (name) => {
    const column = form.columns.find((one) => one.name === name);
    return column.wording || column.name;
  };
  at("report").textContent = line;
  at("meaning").replaceChildren(
    make("dt", { textContent: "The question that was drawn for you (q)" }),
    make("dd", { textContent: question.columns.map(wording).join(" + ") }),
    make("dt", { textContent: "What the report says (r)" }),
    make("dd", { textContent: `${inWords(form, question, report)} (which may or may not be true)` }),
    make("dt", { textContent: "A number that is used for this report only (n)" }),
    make("dd", { textContent: "so that it is not counted twice" }),
  );
  at("send").hidden = !form.post_to;
  if (again) {
    at("notes").textContent =
      "You have made this report before in this browser. A second, different one would tell more " +
      "about you, so you see the same one again. Sending it again tells nothing more.";
  }
  at("answers").hidden = true;
  at("result").hidden = false;
  at("result-heading").focus();
}

at("answers").addEventListener("submit", (event) => {
  event.preventDefault();
  at("problem").hidden = true;
  try {
    const before = booked(); // in another tab, say
    if (before) {
      showReport(before, true);
      return;
    }
    const answers = entered();
    checkAnswers(answers);
    const level = Number(new FormData(at("answers")).get("level") || 0);
    const line = answer(form, encode(form, answers).codes, { level, token: readToken() });
    if (!book(line)) {
      at("notes").textContent =
        "This browser keeps nothing for this page, so nothing stops you from answering twice. " +
        "Please do not: two reports tell more than one.";
    }
    at("answers").reset();
    showReport(line, false);
  } catch (error) {
    at("problem").textContent = error.message;
    at("problem").hidden = false;
  }
});

at("save").addEventListener("click", () => {
  const content = new Blob([`${at("report").textContent}\n`], { type: "application/x-ndjson" });
  const link = make("a", { href: URL.createObjectURL(content), download: "report.jsonl" });
  link.click();
  URL.revokeObjectURL(link.href);
  at("status").textContent = "Saved as report.jsonl. Hand this file in.";
});

at("send").addEventListener("click", async () => {
  at("send").disabled = true;
  at("status").textContent = "Sending ...";
  try {
    const sent = await fetch(form.post_to, {
      method: "POST",
      body: `${at("report").textContent}\n`,
      headers: { "Content-Type": "text/plain" },
      credentials: "omit",
      referrerPolicy: "no-referrer",
    });
    if (!sent.ok) throw new Error(`the other side answered ${sent.status}`);
    at("status").textContent = "Sent. Thank you. You can close this page.";
  } catch (error) {
    at("send").disabled = false;
    at("status").textContent = `Not sent: ${error.message}. Try again, or save it as a file.`;
  }
});

showForm();
try {
  if (booked()) showReport(booked(), true);
} catch {
  // What is kept under this name is no report of this survey.
}
