// Measures what deflate before padding would save, and what the size steps would then tell a host
// (decision 33): `npm run build && node build/compression.js`. Texts are the Markdown of this
// repository's history, each version once, and the Markdown and JSON of its dependencies.

import { spawnSync } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { deflateRawSync } from 'node:zlib'

const root = fileURLToPath(new URL('..', import.meta.url))
/** Of a memory blob: its fields, a path of twenty bytes, and the envelope around it. */
const FIELDS = 84
const ENVELOPE = 96

/** FORMAT §3.3, with and without the step of 1,280. */
function padded(length: number, hasStep: boolean): number {
  if (hasStep && length > 1024 && length <= 1280) return 1280
  let power = 512
  while (power < length) power *= 2
  return power > 512 && length <= power * 0.75 ? power * 0.75 : power
}

function versionsInHistory(): readonly Buffer[] {
  const listed = git('rev-list', '--objects', 'HEAD').toString().split('\n')
  const blobs = listed.flatMap((line) => (line.endsWith('.md') ? [line.slice(0, 40)] : []))
  return blobs.map((oid) => git('cat-file', 'blob', oid))
}

function git(...args: readonly string[]): Buffer {
  return spawnSync('git', args, { cwd: root, maxBuffer: 1 << 28 }).stdout
}

function filesBelow(directory: string, end: string, most: number): readonly Buffer[] {
  const names = readdirSync(directory, { recursive: true, encoding: 'utf8' })
  const wanted = names.filter((name) => name.endsWith(end)).toSorted()
  const texts = wanted.map((name) => readFileSync(join(directory, name)))
  return texts.filter(({ length }) => length > 0 && length <= most)
}

function measure(name: string, texts: readonly Buffer[]): void {
  let [plain, stepped, deflated] = [0, 0, 0]
  const began = performance.now()
  const packed = texts.map((text) => deflateRawSync(text))
  const ms = performance.now() - began
  for (const [index, text] of texts.entries()) {
    const size = FIELDS + text.length
    plain += padded(size, false) + ENVELOPE
    stepped += padded(size, true) + ENVELOPE
    deflated += padded(FIELDS + (packed[index]?.length ?? 0), true) + ENVELOPE
  }
  const bytes = texts.reduce((sum, { length }) => sum + length, 0)
  const share = (part: number): string => `${((100 * part) / plain).toFixed(1)} %`
  const speed = `${((ms * 1e6) / bytes).toFixed(0)} ns/byte`
  console.log(
    `${name}: ${texts.length} texts, ${bytes} bytes; stored ${plain}, with 1,280 ` +
      `${share(stepped)}, deflated ${share(deflated)} at ${speed}`,
  )
}

/** A note that holds a secret, in which somebody can plant a line. */
function note(secret: string, planted: string): Buffer {
  const body = readFileSync(`${root}/docs/ARCHITECTURE.md`, 'utf8').slice(0, 3000)
  return Buffer.from(`${body}\ndoor code: ${secret}\n${body.slice(0, 40)}\n${planted}\n`)
}

/** How often each guess is tried, with other filler: the rest of the text adds noise. */
const TRIES = 8

/**
 * Guesses the digits of a secret one after another from the padded size alone: each guess is
 * planted with filler that moves the size to the edge of a step.
 */
function guess(secret: string): { readonly found: string; readonly writes: number } {
  let [found, writes] = ['', 0]
  const sizeOf = (planted: string): number => {
    writes += 1
    return padded(FIELDS + deflateRawSync(note(secret, planted)).length, true)
  }
  for (let digit = 0; digit < secret.length; digit += 1) {
    const room = (next: string): number => {
      const fits = Array.from({ length: TRIES }, (_, seed) => {
        return roomLeft(`door code: ${found}${next}`, noise(seed), sizeOf)
      })
      return fits.reduce((sum, one) => sum + one, 0)
    }
    const rooms = Array.from('0123456789', (next) => [next, room(next)] as const)
    const [best] = rooms.toSorted(([, one], [, other]) => other - one)
    found += best?.[0] ?? '?'
  }
  return { found, writes }
}

/** How much filler fits before the size takes the next step. */
function roomLeft(line: string, filler: string, sizeOf: (planted: string) => number): number {
  const before = sizeOf(line)
  let [low, high] = [0, filler.length]
  while (high - low > 1) {
    const middle = Math.floor((low + high) / 2)
    if (sizeOf(`${line}\n${filler.slice(0, middle)}`) === before) low = middle
    else high = middle
  }
  return low
}

/** Letters that hardly compress, none of them a digit. */
function noise(seed: number): string {
  let state = seed + 1
  return Array.from({ length: 3000 }, () => {
    state = (state * 48_271) % 2_147_483_647
    return String.fromCharCode(65 + (state % 58))
  }).join('')
}

measure('Markdown of this history', versionsInHistory())
measure('Markdown of dependencies', filesBelow(`${root}/node_modules`, '.md', 102_400))
measure('JSON of dependencies', filesBelow(`${root}/node_modules`, 'package.json', 102_400))
const secret = '2718281'
const { found, writes } = guess(secret)
console.log(`A planted text finds ${found} of ${secret} from size steps, after ${writes} writes`)
