// Copies and saves tables as CSV.
const tables = {};

tables.field = function (text) {
  return /[",\n\r]/.test(text) ? '"' + text.replace(/"/g, '""') + '"' : text;
};

tables.csv = function (rows) {
  return rows.map((row) => row.map(tables.field).join(",") + "\r\n").join("");
};

// The texts of a table of the page. Numbers of the page have commas between groups of digits; programs
// would read them as texts. Texts of the store, which stay as they are, have an element of their own.
tables.rowsOf = function (table) {
  const textOf = function (cell) {
    const text = cell.innerText.replace(/\n/g, " ");
    const isGrouped = !cell.querySelector("bdi") && /^\d{1,3}(,\d{3})+$/.test(text);
    return isGrouped ? text.replace(/,/g, "") : text;
  };
  return Array.from(table.rows, (row) => Array.from(row.cells, textOf));
};

tables.say = function (text) {
  document.getElementById("said").textContent = text;
};

tables.save = function (name, rows) {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([tables.csv(rows)], { type: "text/csv;charset=utf-8" }));
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10000);
  tables.say("Saved " + name);
};

tables.copy = async function (rows) {
  const text = tables.csv(rows);
  let isCopied = true;
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    // A page in a frame may not use the clipboard by itself.
    const focused = document.activeElement;
    const area = document.createElement("textarea");
    area.value = text;
    document.body.append(area);
    area.select();
    isCopied = document.execCommand("copy");
    area.remove();
    focused.focus();
  }
  tables.say(isCopied
    ? "Copied " + (rows.length - 1) + (rows.length === 2 ? " row" : " rows")
    : "This browser does not let the page copy; save the table");
};

tables.button = function (text, action, title) {
  const button = document.createElement("button");
  button.type = "button";
  button.textContent = text;
  if (title) {
    button.title = title;
  }
  button.addEventListener("click", action);
  return button;
};

// A name of a file, of any text.
tables.fileName = function (text) {
  return text.replace(/[^\p{L}\p{N}]+/gu, "_").slice(0, 60) + ".csv";
};

// Gives each table of the page its buttons.
tables.start = function () {
  for (const table of document.querySelectorAll("main table")) {
    const line = document.createElement("div");
    line.className = "buttons";
    // Not `innerText`, which lays out the whole page again for each table.
    const name = tables.fileName(table.caption ? table.caption.textContent : "table");
    line.append(
      tables.button("Copy", () => tables.copy(tables.rowsOf(table)), "Copies the table as CSV"),
      tables.button("Save", () => tables.save(name, tables.rowsOf(table)), "Saves the table as CSV"));
    table.parentNode.after(line);
  }
};
