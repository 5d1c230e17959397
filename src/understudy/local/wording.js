// ------------------------------------------------------------------ a survey in words
//
// How a page shows questions and reports to a person. What it makes are elements of the page.

const MAX_CHOICES = 6;

export function make(tag, properties = {}, ...children) {
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
export function atMostSure(epsilon) {
  const sure = 100 / (1 + Math.exp(-epsilon));
  return roundUp(sure, sure > 99 ? 3 : 0);
}

/** The promise of a level of privacy, in numbers that hold for every report. */
export function promise(epsilon) {
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

export function showColumn(column, place) {
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
function answerInWords(form, question, value) {
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
export function inWords(form, question, report) {
  const values = spokenFor(question.randomisers[report.e], report);
  if (values === null) return "numbers that speak for some answers and against others";
  if (!values.length) return "none of the answers";
  const said = values.slice(0, MAX_CHOICES).map((value) => answerInWords(form, question, value));
  if (values.length > MAX_CHOICES) said.push(`${values.length - MAX_CHOICES} more`);
  return said.join(", or ");
}

