// New misses go on top of the list as they come. Everything is set as text: addresses are somebody else's words.
const table = document.getElementById("missing");
const state = document.getElementById("live-state");
const shown = 200;

const cell = (text, { name, href, whole = text, before = "" } = {}) => {
  const made = document.createElement("td");
  const outer = document.createElement(href ? "a" : "span");
  const inner = document.createElement("bdi");
  inner.dir = "ltr";
  inner.textContent = text;
  outer.title = whole;
  if (href) outer.href = href;
  outer.append(before, inner);
  made.append(outer);
  if (name) made.className = name;
  return made;
};

const row = (miss) => {
  const made = document.createElement("tr");
  const source = cell(miss.shown_source, { whole: miss.source, before: miss.guessed ? `${table.dataset.probably} ` : "" });
  made.append(cell(miss.when), cell(miss.reason), cell(miss.shown, { whole: miss.url, href: miss.about }), source, cell(String(miss.offered), { name: "number" }));
  return made;
};

const stream = new EventSource(`/admin/live/stream?after=${table.dataset.last}`);
stream.onmessage = (event) => {
  for (const miss of JSON.parse(event.data)) table.prepend(row(miss));
  while (table.children.length > shown) table.lastElementChild.remove();
  document.getElementById("nothing")?.remove();
};
stream.onopen = () => { state.textContent = table.dataset.open; };
stream.onerror = () => { if (stream.readyState === EventSource.CLOSED) state.textContent = table.dataset.lost; };
