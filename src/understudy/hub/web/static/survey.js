/* A person's side of a survey. Answers stay in this page; one randomised report leaves it. */

const root = document.getElementById("survey");
const form = JSON.parse(document.getElementById("form").textContent);
const [client, wording, tokens] = await Promise.all(
  ["client", "wording", "tokens"].map((name) => import(root.dataset[name])),
);
const { make, promise, atMostSure } = wording;
const at = (id) => document.getElementById(id);
const KEY = `understudy.survey.${form.survey}`;
/* The code of an invitation stands behind the # of the link, which a browser sends to nobody. */
const code = window.location.hash.slice(1);

/* ---- what is shown */

function levelName(epsilon) {
  return `Epsilon ${epsilon}: at most ${atMostSure(epsilon)} % sure`;
}

function pickLevel(column, place) {
  const select = make("select", { name: `level-${place}`, id: `level-${place}` });
  select.append(make("option", { value: "", textContent: "As chosen for all" }));
  form.levels.forEach((epsilon, number) => {
    select.append(make("option", { value: String(number), textContent: levelName(epsilon) }));
  });
  const label = make("label", { htmlFor: select.id, textContent: "Privacy of this answer" });
  return make("div", { className: "item-level" }, label, select);
}

function showForm() {
  form.columns.forEach((column, place) => {
    const question = wording.showColumn(column, place);
    const item = make("div", { className: "item" }, question);
    if (form.levels.length > 1) item.append(pickLevel(column, place));
    at("columns").append(item);
  });
  at("promise").textContent = promise(form.levels[0]);
  at("levels").hidden = form.levels.length < 2;
  form.levels.forEach((epsilon, number) => {
    const input = make("input", { type: "radio", name: "level", value: String(number) });
    input.checked = number === 0;
    input.addEventListener("change", () => { at("promise").textContent = promise(epsilon); });
    const text = make("span", { textContent: levelName(epsilon) });
    at("level-list").append(make("label", { className: "check" }, input, text));
  });
  at("each").addEventListener("change", () => {
    root.classList.toggle("by-item", at("each").checked);
  });
  at("answers").hidden = false;
}

/* ---- what was entered */

function entered() {
  const data = new FormData(at("answers"));
  return Object.fromEntries(
    form.columns.map((column, place) => [column.name, data.get(`column-${place}`)]),
  );
}

/** The level of each column: its own, or the one for all. */
function chosenLevels() {
  const data = new FormData(at("answers"));
  const all = Number(data.get("level") || 0);
  return Object.fromEntries(
    form.columns.map((column, place) => {
      const own = at("each").checked ? data.get(`level-${place}`) : "";
      return [column.name, own ? Number(own) : all];
    }),
  );
}

function checkAnswers(answers) {
  const { misfits } = client.encode(form, answers);
  form.columns.forEach((column, place) => {
    for (const input of document.getElementsByName(`column-${place}`)) {
      input.setAttribute("aria-invalid", String(misfits.includes(column.name)));
    }
  });
  if (!misfits.length) return;
  const first = form.columns.findIndex((column) => column.name === misfits[0]);
  document.getElementsByName(`column-${first}`)[0].focus();
  const named = form.columns
    .filter((column) => misfits.includes(column.name))
    .map((column) => `"${column.wording || column.name}"`);
  throw new Error(`Please look again at ${named.join(", ")}: an answer is missing or outside the range.`);
}

/* ---- the token, and what this browser remembers */

function remembered(name) {
  try { return window.localStorage.getItem(`${KEY}.${name}`); } catch { return null; }
}

function remember(name, value) {
  try {
    window.localStorage.setItem(`${KEY}.${name}`, value);
    return remembered(name) === value;
  } catch { return false; }
}

async function post(address, body, type) {
  const answer = await fetch(address, {
    method: "POST",
    body,
    headers: { "Content-Type": type },
    credentials: "omit", /* nobody who is signed in here is named by it */
    referrerPolicy: "no-referrer",
  });
  let told = {};
  try { told = await answer.json(); } catch { /* no words */ }
  return { status: answer.status, told };
}

/** What is asked of the hub for this invitation. It is kept until there is an answer: another
    request of the same invitation would be refused, and an answer may get lost. */
async function askedBefore() {
  try {
    const { number, factor, text } = JSON.parse(remembered("asked"));
    return { number: tokens.fromHex(number), factor: BigInt(factor), text };
  } catch {
    const { number, factor, text } = await tokens.requestToken();
    remember("asked", JSON.stringify({ number: tokens.toHex(number), factor: String(factor), text }));
    return { number, factor, text };
  }
}

/** A token for this invitation: the hub answers without seeing it. */
async function getToken() {
  if (!form.token_needed) return null;
  const known = remembered("token");
  if (known) return known;
  if (!code) throw new Error("Open the whole link of your invitation: the part behind the # is missing.");
  const asked = await askedBefore();
  const { status, told } = await post(root.dataset.token, JSON.stringify({ code, request: asked.text }), "application/json");
  if (status !== 200) throw new Error(told.problem || "The hub did not answer; try again.");
  const token = await tokens.finishToken(asked, told.response, form.token_key);
  remember("token", token);
  return token;
}

/* ---- the report */

function showReport(line, again) {
  const report = JSON.parse(line);
  const question = form.questions[report.q];
  const words = question.columns.map((name) => {
    const column = form.columns.find((one) => one.name === name);
    return column.wording || column.name;
  });
  const facts = [
    ["The question that was drawn for you (q)", words.join(" + ")],
    ["What the report says (r)", `${wording.inWords(form, question, report)} (which may or may not be true)`],
    ["The privacy of this report (e)", levelName(form.levels[report.e])],
    ["A number that is used for this report only (n)", "so that it is not counted twice"],
  ];
  if (report.t) facts.push(["Your token (t)", "shows that you were invited, and not who you are"]);
  at("promise").textContent = promise(form.levels[report.e]);
  at("report").textContent = line;
  at("meaning").replaceChildren(
    ...facts.flatMap(([name, text]) => [make("dt", { textContent: name }), make("dd", { textContent: text })]),
  );
  at("again").hidden = !again;
  at("answers").hidden = true;
  at("result").hidden = false;
  if (remembered("sent") === line) showSent("You have sent this report already. Thank you.");
  at("result-heading").focus();
}

function showSent(text) {
  at("send").hidden = true;
  at("status").textContent = text;
}

at("answers").addEventListener("submit", async (event) => {
  event.preventDefault();
  at("problem").hidden = true;
  at("make").disabled = true;
  try {
    const before = remembered("report"); /* made in another tab, say */
    if (before) {
      showReport(before, true);
      return;
    }
    const answers = entered();
    checkAnswers(answers);
    const levels = chosenLevels();
    const token = await getToken();
    const line = client.answer(form, client.encode(form, answers).codes, { level: levels, token });
    if (!remember("report", line)) {
      at("notes").textContent =
        "This browser keeps nothing for this page, so nothing stops you from answering twice. " +
        "Please do not: two reports tell more than one.";
    }
    at("answers").reset();
    showReport(line, false);
  } catch (error) {
    at("problem").textContent = error.message;
    at("problem").hidden = false;
  } finally {
    at("make").disabled = false;
  }
});

at("answers").addEventListener("input", (event) => {
  const same = `[name="${CSS.escape(event.target.name)}"]`;
  for (const input of at("answers").querySelectorAll(same)) input.removeAttribute("aria-invalid");
  // What was said is out of date once all that was marked is put right; else it stays.
  const wrong = at("make").disabled || at("answers").querySelector("[aria-invalid=true]");
  if (!wrong) at("problem").hidden = true;
});

at("send").addEventListener("click", async () => {
  const line = at("report").textContent;
  at("send").disabled = true;
  at("status").textContent = "Sending ...";
  try {
    const { status, told } = await post(root.dataset.reports, `${line}\n`, "text/plain");
    if (status === 202) {
      showSent("Sent. Thank you. You can close this page.");
    } else if (status === 409 && told.state === "repeated") {
      showSent("This report is there already. It counts once. Thank you.");
    } else {
      throw new Error(told.problem || `the hub answered ${status}`);
    }
    remember("sent", line);
  } catch (error) {
    at("status").textContent = `Not sent: ${error.message}`;
  } finally {
    at("send").disabled = false;
  }
});

showForm();
try {
  client.checkForm(form);
  if (remembered("report")) showReport(remembered("report"), true);
} catch (error) {
  at("problem").textContent = error.message;
  at("problem").hidden = false;
  at("make").disabled = true;
}
root.dataset.ready = "yes";
