// The figures and the chart are drawn anew every minute; lists and what is typed into forms stay as they are.
const every = 60_000;

const refresh = async () => {
  if (document.hidden) return;
  const answer = await fetch("/admin", { redirect: "error" });
  if (!answer.ok) return;
  const fresh = new DOMParser().parseFromString(await answer.text(), "text/html").getElementById("now");
  if (!fresh) return;
  const isOpen = document.querySelector("#now details")?.open;
  fresh.querySelector("details")?.toggleAttribute("open", Boolean(isOpen));
  document.getElementById("now").replaceWith(fresh);
};

if (document.getElementById("now")) setInterval(() => refresh().catch(() => {}), every);
