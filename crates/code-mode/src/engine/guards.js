// Built-in functions which the engine does not interrupt, and which take for ever with what is easily written: an array that
// is all holes, a long text sought in a longer one, a pattern as long as a book. Runs once, before the script.
//
// Each is replaced by one that looks first and then does the same. This is no wall: a script that wants to can find a slow
// built-in, and its cell is then answered for without it.
(function (isOver, longestArray) {
  "use strict";
  const { apply, construct } = Reflect;
  const { defineProperty } = Object;
  const { RangeError: NativeRangeError, String: string } = globalThis;
  const { indexOf, slice } = string.prototype;
  const { test } = RegExp.prototype;

  const longestPattern = 8192;
  // Comparisons that one uninterrupted search may cost: a tenth of a second.
  const mostComparisons = 2 ** 24;
  const manyMarks = /\p{M}{100}/u;

  // No array of that length fits into the memory; only its holes do.
  function holdToLength(value) {
    if (typeof value === "object" && value !== null && value.length > longestArray) {
      throw new NativeRangeError(`an array of ${value.length} is too long here: at most ${longestArray}`);
    }
  }

  function holdToPattern(pattern) {
    if (typeof pattern === "string" && pattern.length > longestPattern) {
      throw new NativeRangeError(`a pattern of ${pattern.length} characters is too long here: at most ${longestPattern}`);
    }
  }

  // Seeks one text in another piece by piece, so that it can be interrupted. What is done here in time, the built-in
  // function does in the same time.
  function rehearse(whole, part) {
    if (typeof part !== "string" || whole === undefined || whole === null) return;
    const text = string(whole);
    if (part.length === 0 || text.length * part.length <= mostComparisons) return;
    const step = mostComparisons / part.length > 1 ? (mostComparisons / part.length) | 0 : 1;
    for (let from = 0; from + part.length <= text.length; ) {
      const piece = apply(slice, text, [from, from + step + part.length - 1]);
      const found = apply(indexOf, piece, [part]);
      from += found < 0 ? step : found + part.length;
      // The engine looks whether it must stop every few thousand steps of a script, and no sooner.
      if (isOver()) for (;;);
    }
  }

  // Sorting marks into their order takes the square of their number.
  function holdToMarks(text) {
    if (text === undefined || text === null) return;
    if (apply(test, manyMarks, [string(text)])) throw new NativeRangeError("a letter has too many combining marks");
  }

  function replace(owner, name, value) {
    defineProperty(owner, name, { __proto__: null, value, writable: true, enumerable: false, configurable: true });
  }

  function guard(owner, name, check) {
    const original = owner[name];
    if (typeof original !== "function") return;
    const guarded = {
      [name](...given) {
        check(this, given);
        return apply(original, this, given);
      },
    }[name];
    defineProperty(guarded, "length", { __proto__: null, value: original.length });
    replace(owner, name, guarded);
  }

  function guardConstructor(name, check) {
    const original = globalThis[name];
    const guarded = new Proxy(original, {
      __proto__: null,
      apply(target, self, given) {
        check(given[0]);
        return apply(target, self, given);
      },
      construct(target, given, newTarget) {
        check(given[0]);
        return construct(target, given, newTarget);
      },
    });
    replace(original.prototype, "constructor", guarded);
    replace(globalThis, name, guarded);
  }

  const ofArrays = [
    "concat", "copyWithin", "fill", "flat", "flatMap", "join", "reverse", "shift", "slice", "sort", "splice", "toLocaleString",
    "toReversed", "toSorted", "toSpliced", "unshift", "with",
  ];
  for (const name of ofArrays) {
    guard(Array.prototype, name, (self, given) => {
      holdToLength(self);
      for (let index = 0; index < given.length; index += 1) holdToLength(given[index]);
    });
  }
  for (const name of ["Map", "Set", "WeakMap", "WeakSet"]) guardConstructor(name, holdToLength);
  guard(Object, "fromEntries", (_, given) => holdToLength(given[0]));
  guard(Math, "sumPrecise", (_, given) => holdToLength(given[0]));
  guard(Iterator.prototype, "drop", (_, given) => {
    if (given[0] > longestArray) throw new NativeRangeError(`drop takes at most ${longestArray}`);
  });
  for (const name of ["includes", "indexOf", "lastIndexOf", "replace", "replaceAll", "split"]) {
    guard(string.prototype, name, (self, given) => rehearse(self, given[0]));
  }
  for (const name of ["match", "matchAll", "search"]) guard(string.prototype, name, (_, given) => holdToPattern(given[0]));
  guardConstructor("RegExp", holdToPattern);
  delete RegExp.prototype.compile;
  guard(string.prototype, "normalize", holdToMarks);
  guard(string.prototype, "localeCompare", (self, given) => {
    holdToMarks(self);
    holdToMarks(given[0]);
  });
});
