// SPDX-License-Identifier: Apache-2.0
// Burns CPU in the function whose name is given, to be found by node --perf-basic-prof's map.
const name = process.argv[2];
const body = 'let s = n | 1; for (let i = 0; i < 200000; i++) { s = Math.imul(s ^ (s >>> 7), 0x2545f491); } return s;';
const spin = new Function(`return function ${name}(n) { ${body} }`)();
console.log('started');
for (let n = 1; ; n++) {
  spin(n);
}
