/* All that the hub's pages do by script. Each of them works without it. */
"use strict";

/* Times stand in the page in UTC; the reader's clock shows them in the reader's zone. */
function showTimes(root) {
  const format = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "short" });
  for (const time of root.querySelectorAll("time[datetime]")) {
    const moment = new Date(time.dateTime);
    if (!Number.isNaN(moment.getTime())) {
      time.title = time.dateTime;
      time.textContent = format.format(moment);
    }
  }
}

/* A region with data-live="SECONDS" is fetched again, from the page itself, until it says no more. */
async function refresh(id) {
  const region = document.getElementById(id);
  if (!region || !region.dataset.live) { return; }
  let wait = Number(region.dataset.live) * 1000;
  try {
    const answer = await fetch(window.location.href, { headers: { "X-Live": id } });
    if (answer.ok && !answer.redirected) {
      const page = new DOMParser().parseFromString(await answer.text(), "text/html");
      const fresh = page.getElementById(id);
      if (fresh && fresh.dataset.whole !== region.dataset.whole) { /* other parts changed as well */
        window.location.reload();
        return;
      }
      if (fresh && fresh.innerHTML !== region.dataset.seen) {
        const seen = fresh.innerHTML;
        region.replaceWith(fresh);
        fresh.dataset.seen = seen;
        showTimes(fresh);
      }
    }
  } catch (error) {
    wait *= 4; /* the hub is away: ask less often */
  }
  window.setTimeout(refresh, wait, id);
}

/* A form that was sent says so, and is not sent twice by a second click. */
function markBusy(event) {
  const form = event.target;
  if (form.method !== "post") { return; }
  if (form.getAttribute("aria-busy") === "true") { event.preventDefault(); return; }
  form.setAttribute("aria-busy", "true");
}

/* Some choices need more fields than others: a field set with data-when="NAME=VALUE|VALUE". */
function showFields(form) {
  for (const part of form.querySelectorAll("[data-when]")) {
    const [name, values] = part.dataset.when.split("=");
    const chosen = new FormData(form).get(name);
    const shown = values.split("|").includes(chosen);
    part.hidden = !shown;
    part.disabled = !shown;
  }
}

/* A form with data-preview="ID" shows what it would cost before it is sent. */
function watchPreview(form) {
  let timer = 0;
  const show = async () => {
    const query = new URLSearchParams();
    for (const [name, value] of new FormData(form)) {
      if (typeof value === "string" && name !== "csrf" && name !== "key" && name !== "reason") {
        query.append(name, value);
      }
    }
    const url = new URL(window.location.href);
    url.search = query.toString();
    const answer = await fetch(url);
    if (!answer.ok) { return; }
    const page = new DOMParser().parseFromString(await answer.text(), "text/html");
    const fresh = page.getElementById(form.dataset.preview);
    const old = document.getElementById(form.dataset.preview);
    if (fresh && old) { old.replaceWith(fresh); }
  };
  form.addEventListener("input", () => {
    window.clearTimeout(timer);
    timer = window.setTimeout(show, 400);
  });
}

document.addEventListener("DOMContentLoaded", () => {
  showTimes(document);
  document.addEventListener("submit", markBusy);
  window.addEventListener("pageshow", () => {
    for (const form of document.querySelectorAll("form[aria-busy]")) { form.removeAttribute("aria-busy"); }
  });
  for (const region of document.querySelectorAll("[data-live]")) {
    region.dataset.seen = region.innerHTML;
    window.setTimeout(refresh, Number(region.dataset.live) * 1000, region.id);
  }
  for (const form of document.querySelectorAll("form")) {
    if (form.querySelector("[data-when]")) {
      showFields(form);
      form.addEventListener("change", () => showFields(form));
    }
    if (form.dataset.preview) { watchPreview(form); }
  }
  for (const copy of document.querySelectorAll("[data-copy]")) {
    copy.hidden = false;
    copy.addEventListener("click", async () => {
      await navigator.clipboard.writeText(document.getElementById(copy.dataset.copy).textContent.trim());
      copy.textContent = "Copied";
    });
  }
});
