// libsodium's WebAssembly for runtimes without Node, reduced to what the exports in use can reach.
// Every function keeps its number, and each that is reached its bytes; the bodies of all others
// become `unreachable`. So a mistake here can stop a call, and cannot change what one computes.
// Memory, table and data are copied. Throws for anything that libsodium's compiler does not emit.

import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'

/** What src/web/platform/sodium.ts uses. */
const exported = [
  'memory',
  'crypto_aead_xchacha20poly1305_ietf_decrypt',
  'crypto_aead_xchacha20poly1305_ietf_encrypt',
  'crypto_generichash',
  'crypto_kdf_derive_from_key',
  'crypto_kem_xwing_dec',
  'crypto_kem_xwing_enc_deterministic',
  'crypto_kem_xwing_seed_keypair',
  'crypto_sign_detached',
  'crypto_sign_seed_keypair',
  'crypto_sign_verify_detached',
  'free',
  'malloc',
  'sodium_init',
]

const { resolve } = createRequire(createRequire(import.meta.url).resolve('libsodium-wrappers'))
/** The program that brings the module, as base64. */
export const libsodium = join(dirname(resolve('libsodium')), '../modules-esm/libsodium.mjs')

/** The package's module, and the names of its exports by those that they have in C. */
export function readLibsodium() {
  const program = readFileSync(libsodium, 'utf8')
  const [, base64] = program.match(/"(AGFzbQ[\w+/=]+)"/) ?? []
  // Its assignments: `module._malloc=exports.Ee`, and `memory=exports.e` at their end.
  const assigned = program.matchAll(/\w\._(\w+)=\w\.([\w$]+)/g)
  const [, memory] = program.match(/\w=\w\.([\w$]+),\w\.__indirect_function_table\b/) ?? []
  if (base64 === undefined || memory === undefined) throw new Error(`${libsodium} has changed`)
  const names = new Map([...assigned].map(([, name, short]) => [name, short]))
  return { bytes: Buffer.from(base64, 'base64'), names: names.set('memory', memory) }
}

/** The reduced module: `memory`, and the functions under their names in C. */
export function sodiumModule() {
  const { bytes, names } = readLibsodium()
  return reduceModule(bytes, Object.fromEntries(exported.map((name) => [names.get(name), name])))
}

const TYPES = 1
const IMPORTS = 2
const FUNCTIONS = 3
const GLOBALS = 6
const EXPORTS = 7
const ELEMENTS = 9
const CODE = 10
/** A module that runs code at its start has another one. */
const sectionsKnown = new Set([TYPES, IMPORTS, FUNCTIONS, 4, 5, GLOBALS, EXPORTS, 9, CODE, 11, 12])
const FUNCTION = 0
/** A body without variables: `unreachable`, `end`. */
const trap = Buffer.of(0x00, 0x00, 0x0b)

/** The module with the exports of `names` alone: for each old name, the new one. */
export function reduceModule(bytes, names) {
  const module = readModule(bytes)
  const kept = Object.entries(names).map(([old, name]) => {
    const found = module.exports.get(old)
    if (found === undefined) throw new Error(`libsodium does not export ${name}`)
    return { name, kind: found.kind, index: found.index }
  })
  const roots = kept.filter(({ kind }) => kind === FUNCTION).map(({ index }) => index)
  const reached = reachableFrom(module, roots)
  const replaced = {
    [EXPORTS]: kept.map(({ name, kind, index }) =>
      Buffer.concat([sized(Buffer.from(name)), Buffer.of(kind), unsigned(index)]),
    ),
    [CODE]: module.bodies.map((body, at) => sized(reached.has(at + module.imported) ? body : trap)),
  }
  const sections = module.sections.map(({ id, content }) => {
    const items = replaced[id]
    const changed = items && Buffer.concat([unsigned(items.length), ...items])
    return Buffer.concat([Buffer.of(id), sized(changed ?? content)])
  })
  return Buffer.concat([bytes.subarray(0, 8), ...sections])
}

function readModule(bytes) {
  if (bytes.readUInt32BE(0) !== 0x00_61_73_6d || bytes.readUInt32LE(4) !== 1) {
    throw new Error('this is not WebAssembly of version 1')
  }
  const reader = new Reader(bytes.subarray(8))
  const sections = []
  while (!reader.isAtEnd) {
    const id = reader.number()
    if (!sectionsKnown.has(id)) throw new Error(`section ${id} of WebAssembly is not known`)
    sections.push({ id, content: reader.sized() })
  }
  const items = (wanted, read) => {
    const { content = Buffer.of(0) } = sections.find(({ id }) => id === wanted) ?? {}
    return new Reader(content).vector(read)
  }
  const types = items(TYPES, readType)
  const imports = items(IMPORTS, readImport)
  const functions = [...imports, ...items(FUNCTIONS, (section) => section.number())]
  items(GLOBALS, readGlobal)
  return {
    sections,
    /** By value: equal types may have several numbers. */
    types,
    imported: imports.length,
    typeOf: (index) => types[functions[index]],
    exports: new Map(items(EXPORTS, readExport)),
    table: items(ELEMENTS, readElements).flat(),
    bodies: items(CODE, (section) => section.sized()),
  }
}

/** The functions that calls from `roots` can get to. */
function reachableFrom({ types, imported, typeOf, table, bodies }, roots) {
  const reached = new Set()
  const pending = [...roots]
  for (let next = pending.pop(); next !== undefined; next = pending.pop()) {
    if (reached.has(next)) continue
    reached.add(next)
    if (next < imported) continue
    const { functions, typesOfTable } = callsIn(bodies[next - imported])
    const through = new Set(typesOfTable.map((type) => types[type]))
    // A call through the table traps if the function there has another type.
    pending.push(...functions, ...table.filter((index) => through.has(typeOf(index))))
  }
  return reached
}

/** What a body calls: functions by number, and by their type those of the table. */
function callsIn(body) {
  const reader = new Reader(body)
  const calls = { functions: [], typesOfTable: [] }
  reader.vector((locals) => locals.skip(2))
  while (!reader.isAtEnd) {
    const code = reader.byte()
    if (code === 0x10) calls.functions.push(reader.number())
    else if (code === 0x11) {
      calls.typesOfTable.push(reader.number())
      reader.skip(1)
    } else skipOperands(reader, code)
  }
  return calls
}

/** How many numbers follow an instruction that calls nothing. */
function operandsOf(code) {
  const isWithin = (low, high) => code >= low && code <= high
  // unreachable, nop, else, end, return, drop, select; comparisons and arithmetic
  if ([0x00, 0x01, 0x05, 0x0b, 0x0f, 0x1a, 0x1b].includes(code) || isWithin(0x45, 0xc4)) return 0
  // block, loop, if; br, br_if; variables; sizes of memory and integer constants
  if (isWithin(0x02, 0x04) || isWithin(0x0c, 0x0d) || isWithin(0x20, 0x24)) return 1
  if (isWithin(0x3f, 0x42)) return 1
  // loads and stores
  if (isWithin(0x28, 0x3e)) return 2
  throw new Error(`instruction ${code} of WebAssembly is not known`)
}

function skipOperands(reader, code) {
  // br_table
  if (code === 0x0e) {
    reader.vector((labels) => labels.skip(1))
    reader.skip(1)
  } else if (code === 0xfc) {
    const bulk = { 10: 2, 11: 1 }[reader.number()]
    if (bulk === undefined) throw new Error('only memory.copy and memory.fill are known')
    reader.skip(bulk)
  } else reader.skip(operandsOf(code))
}

function readType(section) {
  const form = section.number()
  const [parameters, results] = [section.sized(), section.sized()]
  return `${form} ${parameters.toString('hex')} ${results.toString('hex')}`
}

/** The type of an imported function. */
function readImport(section) {
  section.sized()
  section.sized()
  if (section.number() !== FUNCTION) throw new Error('only functions may be imported')
  return section.number()
}

function readExport(section) {
  const name = section.sized().toString()
  return [name, { kind: section.number(), index: section.number() }]
}

/** Only checks that it holds no function. */
function readGlobal(section) {
  section.skip(2)
  readConstant(section)
}

function readElements(section) {
  if (section.number() !== 0) throw new Error('only a table that is filled at once is known')
  readConstant(section)
  return section.vector((indexes) => indexes.number())
}

function readConstant(section) {
  const isConstant = section.number() === 0x41
  section.skip(1)
  if (!isConstant || section.number() !== 0x0b) throw new Error('only i32.const is known')
}

class Reader {
  #bytes
  #at = 0

  constructor(bytes) {
    this.#bytes = bytes
  }

  get isAtEnd() {
    return this.#at === this.#bytes.length
  }

  byte() {
    const byte = this.#bytes[this.#at]
    if (byte === undefined) throw new Error('WebAssembly ends too early')
    this.#at += 1
    return byte
  }

  /** LEB128; of a signed one only the length is right. */
  number() {
    let value = 0
    for (let scale = 1; ; scale *= 128) {
      const byte = this.byte()
      value += (byte & 127) * scale
      if (byte < 128) return value
    }
  }

  skip(count) {
    for (let left = count; left > 0; left -= 1) this.number()
  }

  sized() {
    const length = this.number()
    const start = this.#at
    this.#at += length
    if (this.#at > this.#bytes.length) throw new Error('WebAssembly ends too early')
    return this.#bytes.subarray(start, this.#at)
  }

  vector(read) {
    return Array.from({ length: this.number() }, () => read(this))
  }
}

function sized(bytes) {
  return Buffer.concat([unsigned(bytes.length), bytes])
}

function unsigned(value) {
  return value < 128
    ? Buffer.of(value)
    : Buffer.concat([Buffer.of((value & 127) | 128), unsigned(value >>> 7)])
}
