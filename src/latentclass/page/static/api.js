// Questions to the server. The token of this run comes behind the # of the address.
const KEY = "latentclass-token";

const isToken = (text) => /^[\w-]{20,}$/.test(text);
const token = (() => {
  const given = location.hash.slice(1);
  if (isToken(given)) {
    sessionStorage.setItem(KEY, given);
    history.replaceState(null, "", location.pathname); // it need not stay on the screen
  }
  return sessionStorage.getItem(KEY) ?? "";
})();

// the address of another run, opened in the same tab
addEventListener("hashchange", () => { if (isToken(location.hash.slice(1))) location.reload(); });

const trouble = document.getElementById("trouble");

export const complain = (text) => {
  trouble.textContent = text ?? "";
  trouble.hidden = !text;
};

export const ask = async (name, body = {}) => {
  let response;
  try {
    response = await fetch(`/ask/${name}`, {
      method: "POST",
      headers: { "content-type": "application/json", "x-latentclass-token": token },
      body: JSON.stringify(body),
    });
  } catch {
    throw new Error("The server does not answer. Has it been stopped?");
  }
  const found = await response.json().catch(() => ({ error: `The server said ${response.status}.` }));
  if (!response.ok) throw new Error(found.error);
  return found;
};

// Asks one question at a time, and after it only the newest of those that came meanwhile. What is
// no longer wanted is neither asked nor shown.
export const newest = (name, show) => {
  let running = false, waiting = null, number = 0;
  const run = async ([mine, body]) => {
    running = true;
    try {
      const found = await ask(name, body);
      complain("");
      if (mine === number) show(found, body);
    } catch (error) {
      if (mine === number) complain(error.message);
    }
    running = false;
    if (waiting) {
      const next = waiting;
      waiting = null;
      run(next);
    }
  };
  return (body) => {
    number += 1;
    if (running) waiting = [number, body];
    else run([number, body]);
  };
};
