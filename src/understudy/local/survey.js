
// ------------------------------------------------------------------ the page

const form = JSON.parse(document.getElementById("form").textContent);
const at = (id) => document.getElementById(id);
const KEY = `understudy.survey.${form.survey}`;
const MAX_CHOICES = 6;

function make(tag, properties = {}, ...children) {
  const element = Object.assign(document.createElement(tag), properties);
  element.append(...children);
  return element;
}

/** A number that is not below another one, with this many places. */
function roundUp(number, places) {
  const unit = 10 ** places;
  return (Math.ceil(number * unit) / unit).toFixed(places);
}

/** How sure of something somebody can be at most who thought it as likely as not before. */
function atMostSure(epsilon) {
  const sure = 100 / (1 + Math.exp(-epsilon));
  return roundUp(sure, sure > 99 ? 3 : 0);
}

/** The promise of a level of privacy, in numbers that hold for every report. */
function promise(epsilon) {
  const times = Math.exp(epsilon);
  return (
    `Any report that you may see below could have come out under any other answers too: it is at ` +
    `most ${roundUp(times, times < 10 ? 1 : 0)} times as likely under some answers as under ` +
    `others (epsilon ${epsilon}). Somebody who thinks that something about you is as likely as ` +
    `not can be at most ${atMostSure(epsilon)} % sure of it after seeing your report.`
  );
}

function pickOne(column, id, options) {
  if (options.length <= MAX_CHOICES) {
    const list = options.map(([value, label], place) =>
      make(
        "label",
        { className: "choice" },
        make("input", { type: "radio", name: id, value, id: `${id}-${place}` }),
        make("span", { textContent: label }),
      ),
    );
    return make(
      "fieldset",
      { className: "question" },
      make("legend", { textContent: column.wording || column.name }),
      ...list,
    );
  }
  const select = make("select", { id, name: id });
  select.append(make("option", { value: "", textContent: "Please choose" }));
  for (const [value, textContent] of options) select.append(make("option", { value, textContent }));
  return make(
    "div",
    { className: "question" },
    make("label", { htmlFor: id, textContent: column.wording || column.name }),
    select,
  );
}

const INPUT_TYPES = { date: "date", time: "time", datetime: "datetime-local" };
const YES_NO = { false: "No", true: "Yes" };

function labelOf(column, code) {
  const label = column.labels[code];
  return (column.kind === "boolean" && YES_NO[label]) || label;
}

function showColumn(column, place) {
  const id = `column-${place}`;
  if (column.values) {
    const options = column.values.map((value, code) => [value, labelOf(column, code)]);
    if (column.missing) options.push(["", "No answer"]);
    return pickOne(column, id, options);
  }
  const input = make("input", { id, name: id, autocomplete: "off" });
  input.type = INPUT_TYPES[column.kind] || "text";
  if (input.type === "text") input.inputMode = column.whole ? "numeric" : "decimal";
  if (input.type === "time" || input.type === "datetime-local") input.step = "1";
  input.setAttribute("aria-describedby", `${id}-hint`);
  const range = `From ${column.range[0]} to ${column.range[1]}`;
  const hint = column.missing ? `${range}; may be left empty` : range;
  return make(
    "div",
    { className: "question" },
    make("label", { htmlFor: id, textContent: column.wording || column.name }),
    input,
    make("p", { className: "hint", id: `${id}-hint`, textContent: hint }),
  );
}

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

/** The values that a report speaks for, where that can be read off it. */
function spokenFor(randomiser, report) {
  const parts = report.r.split(".").map((part) => BigInt(`0x${part}`));
  if (["direct", "randomised response"].includes(randomiser.kind)) return [Number(parts[0])];
  if (!/unary|subset|threshold/.test(randomiser.kind)) return null;
  const values = [];
  for (let value = 0; value < randomiser.size; value += 1) {
    if ((parts[Math.floor(value / 32)] >> BigInt(value % 32)) & 1n) values.push(value);
  }
  return values;
}

/** An answer to a question, in words. */
function answerInWords(question, value) {
  if (question.odd) return value ? "an odd number of these apply" : "an even number of these apply";
  let rest = value;
  const labels = [];
  for (let place = question.columns.length - 1; place >= 0; place -= 1) {
    const column = form.columns.find((one) => one.name === question.columns[place]);
    labels.unshift(labelOf(column, rest % question.sizes[place]));
    rest = Math.floor(rest / question.sizes[place]);
  }
  return labels.join(" + ");
}

/** What a report says, in words. */
function inWords(question, report) {
  const values = spokenFor(question.randomisers[report.e], report);
  if (values === null) return "numbers that speak for some answers and against others";
  if (!values.length) return "none of the answers";
  const said = values.slice(0, MAX_CHOICES).map((value) => answerInWords(question, value));
  if (values.length > MAX_CHOICES) said.push(`${values.length - MAX_CHOICES} more`);
  return said.join(", or ");
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
    make("dd", { textContent: `${inWords(question, report)} (which may or may not be true)` }),
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
