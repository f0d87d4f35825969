// Reads the numbers of the file: base64 of little-endian arrays.
"use strict";
const bytes = {};

// The bytes of a block, from the elements that have its pieces.
bytes.block = function (block) {
  const all = new Uint8Array(block.bytes);
  let at = 0;
  for (let piece = 0; piece < block.pieces; piece++) {
    const element = document.getElementById(block.id + "-" + piece);
    if (Uint8Array.fromBase64) {
      const read = Uint8Array.fromBase64(element.textContent);
      all.set(read, at);
      at += read.length;
      continue;
    }
    const text = atob(element.textContent);
    for (let i = 0; i < text.length; i++) {
      all[at++] = text.charCodeAt(i);
    }
  }
  return all;
};

// The bytes as an array of one type. Every system that runs a browser is little-endian.
bytes.array = function (block, Type) {
  return new Type(bytes.block(block).buffer);
};

// Distances of rows or of x. Exact ones are needed of `uint64` alone.
bytes.distances = function (form, block) {
  const types = {
    uint8: Uint8Array,
    uint16: Uint16Array,
    uint32: Uint32Array,
    uint64: BigUint64Array,
    float64: Float64Array,
  };
  const exact = bytes.array(block, types[form]);
  return { exact, near: form === "uint64" ? Float64Array.from(exact, Number) : exact };
};

// The values of a column: as doubles, NaN where there is none, and `exact` where doubles do not do.
bytes.values = function (column) {
  const scale = Math.pow(10, column.digits);
  const whole = function (Type, none) {
    const read = bytes.array(column.values, Type);
    const near = new Float64Array(read.length);
    for (let i = 0; i < read.length; i++) {
      near[i] = read[i] === none ? NaN : read[i] / scale;
    }
    return { near, exact: null };
  };
  const codes = function (Type) {
    const dictionary = bytes.array(column.dictionary, Float64Array);
    const read = bytes.array(column.values, Type);
    const near = new Float64Array(read.length);
    for (let i = 0; i < read.length; i++) {
      near[i] = dictionary[read[i]];
    }
    return { near, exact: null };
  };
  switch (column.form) {
    case "codes8": return codes(Uint8Array);
    case "codes16": return codes(Uint16Array);
    case "int16": return whole(Int16Array, -32768);
    case "int32": return whole(Int32Array, -2147483648);
    case "float32": return { near: Float64Array.from(bytes.array(column.values, Float32Array)), exact: null };
    case "float64": return { near: bytes.array(column.values, Float64Array), exact: null };
    case "int64": {
      const exact = bytes.array(column.values, BigInt64Array);
      const none = BigInt(column.none);
      return { near: Float64Array.from(exact, (value) => (value === none ? NaN : Number(value))), exact };
    }
    default: throw new Error("the file has numbers of the unknown form " + column.form);
  }
};
