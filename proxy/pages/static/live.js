// New misses go on top of the list as they come. Everything is set as text: addresses are somebody else's words.
const table = document.getElementById("missing");
const state = document.getElementById("live-state");
const shown = 200;

const cell = (text, name) => {
  const made = document.createElement("td");
  const inner = document.createElement("bdi");
  inner.dir = "ltr";
  inner.textContent = text;
  made.append(inner);
  if (name) made.className = name;
  return made;
};

const row = (miss) => {
  const made = document.createElement("tr");
  const when = cell(miss.at.slice(11, 19));
  made.append(when, cell(miss.kind.replaceAll("_", " ")), cell(miss.url), cell(miss.source_url ?? ""), cell(String(miss.offered), "number"));
  return made;
};

const stream = new EventSource(`/admin/live/stream?after=${table.dataset.last}`);
stream.onmessage = (event) => {
  for (const miss of JSON.parse(event.data)) table.prepend(row(miss));
  while (table.children.length > shown) table.lastElementChild.remove();
  document.getElementById("nothing")?.remove();
};
stream.onopen = () => { state.textContent = "New dead links appear here on their own."; };
stream.onerror = () => { if (stream.readyState === EventSource.CLOSED) state.textContent = "Connection to the desk lost. Reload the page."; };
