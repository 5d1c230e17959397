/* What the studio's pages do by script; each of them works without it. */
"use strict";

/* ---- the page of all columns */

function setUpSheet(sheet) {
  const rows = [...sheet.tBodies[0].rows];
  const boxes = () => [...sheet.querySelectorAll("input[name=chosen]")];
  const ticked = document.getElementById("ticked");
  const all = document.getElementById("tick-all");
  const count = () => { ticked.textContent = String(boxes().filter((box) => box.checked).length); };
  all.hidden = false;
  document.getElementById("keys").hidden = false;
  all.addEventListener("change", () => {
    for (const box of boxes()) {
      if (!box.closest("tr").hidden) { box.checked = all.checked; }
    }
    count();
  });

  let last = null; /* Shift and a click tick all lines in between. */
  sheet.addEventListener("click", (event) => {
    const box = event.target.closest("input[name=chosen]");
    if (!box) { return; }
    const list = boxes().filter((one) => !one.closest("tr").hidden);
    if (event.shiftKey && last && list.includes(last)) {
      const [from, to] = [list.indexOf(last), list.indexOf(box)].sort((a, b) => a - b);
      for (const one of list.slice(from, to + 1)) { one.checked = box.checked; }
    }
    last = box;
    count();
  });

  /* The arrows go from line to line within a column of the sheet. */
  sheet.addEventListener("keydown", (event) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    const field = event.target.closest("input, select");
    if (!step || !field || event.altKey || (field.tagName === "SELECT" && !event.ctrlKey)) { return; }
    const cell = field.closest("td");
    let row = cell.parentElement;
    do { row = step > 0 ? row.nextElementSibling : row.previousElementSibling; } while (row && row.hidden);
    const next = row && row.cells[cell.cellIndex] && row.cells[cell.cellIndex].querySelector("input, select");
    if (next) { event.preventDefault(); next.focus(); if (next.select && next.type !== "checkbox") { next.select(); } }
  });

  sheet.addEventListener("input", (event) => {
    const row = event.target.closest("tr");
    if (row && event.target.name !== "chosen") { row.classList.add("changed"); row.classList.remove("suggested"); }
  });

  /* What a line's text looks like follows from what the column holds. */
  sheet.addEventListener("change", (event) => {
    const kind = event.target.closest("select[name^=kind-]");
    if (!kind) { return; }
    const facts = kind.closest("tr").querySelector("input[name^=facts-]");
    facts.placeholder = kind.selectedOptions[0].dataset.hint || "";
  });

  /* The filter works at once; the form behind it does the same without a script. */
  const find = document.getElementById("find");
  find.addEventListener("input", () => {
    const text = find.value.toLowerCase();
    for (const row of rows) { row.hidden = !row.dataset.name.toLowerCase().includes(text); }
  });
  document.getElementById("show").addEventListener("change", (event) => event.target.form.requestSubmit());
  document.addEventListener("keydown", (event) => {
    if (event.key === "/" && !event.target.closest("input, select, textarea")) { event.preventDefault(); find.focus(); }
  });
  const wrong = sheet.querySelector("[aria-invalid]");
  if (wrong) { wrong.focus(); }
}

/* ---- the slider of the budget */

function setUpSlider(slider) {
  const number = document.getElementById("epsilon");
  const follow = () => { slider.value = String(Math.log10(Math.max(Number(number.value), 0.01))); };
  slider.hidden = false;
  follow();
  number.addEventListener("input", follow);
  slider.addEventListener("input", () => {
    number.value = String(Number((10 ** Number(slider.value)).toPrecision(2)));
    number.dispatchEvent(new Event("input", { bubbles: true }));
  });
}

/* ---- a page that follows a task goes on when the task has ended */

async function followTask() {
  if (!document.getElementById("progress")) { return; }
  try {
    const told = await (await fetch("/state")).json();
    if (told.state !== "running") { window.location.reload(); return; }
  } catch (error) { /* the studio is busy */ }
  window.setTimeout(followTask, 700);
}

document.addEventListener("DOMContentLoaded", () => {
  const sheet = document.getElementById("sheet");
  if (sheet) { setUpSheet(sheet); }
  const slider = document.getElementById("slider");
  if (slider) { setUpSlider(slider); }
  followTask();
});
