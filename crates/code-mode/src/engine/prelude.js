// What a script finds around itself. Runs once, before the script, and is given the only ways out: `native`.
//
// Everything here is kept in constants before a script can change it: a script that replaces JSON.stringify or
// Promise.prototype.then fools itself and nobody else.
(function (native, toolsAsJson) {
  "use strict";
  const { parse, stringify } = JSON;
  const { apply } = Reflect;
  const { create, defineProperty, freeze, getPrototypeOf } = Object;
  const { isArray } = Array;
  const { Error: NativeError, EvalError: NativeEvalError, Promise: NativePromise } = globalThis;
  const { TypeError: NativeTypeError, String: string } = globalThis;
  const makeWellFormed = string.prototype.toWellFormed;

  const wellFormed = (text) => apply(makeWellFormed, text, []);
  const fixed = (owner, name, value) =>
    defineProperty(owner, name, { __proto__: null, value, writable: false, enumerable: false, configurable: false });

  // Words for any value.
  function show(value) {
    if (typeof value === "string") return value;
    if (value instanceof NativeError) return explain(value);
    try {
      const json = stringify(value);
      if (typeof json === "string") return json;
    } catch {
      // A circle or a bigint: no JSON, but perhaps a text.
    }
    return string(value);
  }

  function explain(value) {
    if (!(value instanceof NativeError)) return `uncaught ${show(value)}`;
    const stack = typeof value.stack === "string" ? value.stack : "";
    return `${string(value.name)}: ${string(value.message)}\n${stack}`;
  }

  // Calls of tools. What is under way is kept by number until the answer comes.
  const underWay = create(null);

  function payloadOf(tool, given) {
    if (tool.parameters === null) {
      if (typeof given !== "string") throw new NativeTypeError(`tools.${tool.name} takes one string`);
      return given;
    }
    const object = given === undefined ? {} : given;
    if (typeof object !== "object" || object === null || isArray(object)) {
      throw new NativeTypeError(`tools.${tool.name} takes one object`);
    }
    return stringify(object);
  }

  function caller(tool, index) {
    return (given) => {
      // Made here, so that its stack shows the script where it called.
      const error = new NativeError();
      return new NativePromise((resolve, reject) => {
        const number = native.call(index, wellFormed(string(payloadOf(tool, given))));
        underWay[number] = { __proto__: null, resolve, reject, error };
      });
    };
  }

  function settle(number, succeeded, payload) {
    const { resolve, reject, error } = underWay[number];
    if (succeeded) {
      resolve(parse(payload));
    } else {
      fixed(error, "message", payload);
      reject(error);
    }
    delete underWay[number];
  }

  function deeplyFrozen(value) {
    if (typeof value === "object" && value !== null) {
      for (const key in value) deeplyFrozen(value[key]);
      freeze(value);
    }
    return value;
  }

  const allTools = parse(toolsAsJson);
  const tools = create(null);
  const identifier = /[^\p{ID_Continue}$]/gu;
  for (let index = 0; index < allTools.length; index += 1) {
    const tool = allTools[index];
    const call = freeze(caller(tool, index));
    const alias = tool.name.replace(identifier, "_");
    if (!(tool.name in tools)) defineProperty(tools, tool.name, { __proto__: null, value: call, enumerable: true });
    if (!(alias in tools)) defineProperty(tools, alias, { __proto__: null, value: call });
  }

  // Timers.
  const timers = create(null);

  function setTimeout(callback, milliseconds, ...given) {
    if (typeof callback !== "function") throw new NativeTypeError("setTimeout takes a function");
    const wanted = +milliseconds;
    const number = native.startTimer(wanted > 0 ? wanted : 0);
    timers[number] = { __proto__: null, callback, given };
    return number;
  }

  function clearTimeout(number) {
    if (typeof number !== "number" || !(number in timers)) return;
    delete timers[number];
    native.stopTimer(number);
  }

  function fire(number) {
    const { callback, given } = timers[number];
    delete timers[number];
    apply(callback, undefined, given);
  }

  // Returns at once, or never: an empty loop is where the engine finds out soonest that it must stop, and unlike an error
  // no script can catch that.
  function goOn() {
    if (native.isOver()) for (;;);
  }

  // What a script says and keeps.
  function say(words) {
    native.text(wellFormed(words));
    goOn();
  }

  const text = (value) => say(show(value));

  function log(...values) {
    let line = "";
    for (let index = 0; index < values.length; index += 1) line += (index === 0 ? "" : " ") + show(values[index]);
    say(line);
  }

  function image(given) {
    const url = typeof given === "object" && given !== null ? given.image_url : given;
    if (typeof url !== "string") throw new NativeTypeError("image takes a data URL, or an object with one as image_url");
    native.image(wellFormed(url));
    goOn();
  }

  function keyOf(key) {
    if (typeof key !== "string") throw new NativeTypeError("a key of store and load is a string");
    return wellFormed(key);
  }

  function store(key, value) {
    if (value === undefined) return native.forget(keyOf(key));
    const json = stringify(value);
    if (typeof json !== "string") throw new NativeTypeError("store takes what JSON can hold");
    native.store(keyOf(key), wellFormed(json));
  }

  function load(key) {
    const json = native.load(keyOf(key));
    return typeof json === "string" ? parse(json) : undefined;
  }

  const notify = (value) => native.notify(wellFormed(show(value)));
  function exit() {
    native.exit();
    goOn();
  }
  const yield_control = () => native.yieldControl();
  const console = freeze({ __proto__: null, log, info: log, warn: log, error: log, debug: log });

  const offered = {
    __proto__: null, tools: freeze(tools), ALL_TOOLS: deeplyFrozen(allTools), console, setTimeout, clearTimeout, text, image,
    store, load, notify, exit, yield_control,
  };
  for (const name in offered) fixed(globalThis, name, freeze(offered[name]));

  // What scripts are better off without: code made from text, which nobody has seen, and memory shared with nobody.
  function refuseCode() {
    throw new NativeEvalError("code cannot be made from text here");
  }
  const kinds = [function () {}, async function () {}, function* () {}, async function* () {}];
  for (let index = 0; index < kinds.length; index += 1) {
    const prototype = getPrototypeOf(kinds[index]);
    const refusal = function Function() { refuseCode(); };
    fixed(refusal, "prototype", prototype);
    fixed(prototype, "constructor", refusal);
    if (index === 0) fixed(globalThis, "Function", refusal);
  }
  fixed(globalThis, "eval", function () { refuseCode(); });

  return { __proto__: null, settle, fire, explain };
});
