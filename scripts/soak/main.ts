// `npm run soak`: two clones of a store write, read, redact and sync for minutes, each in a process
// that is killed again and again. Anything acknowledged that is missing afterwards ends the run
// with exit code 1. One line is printed for each minute.

import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { run, scratchDirectory } from '../bench/machine.ts'
import { seededChoice } from '../bench/workload.ts'
import type { Proof } from './child.ts'
import type { Pulse } from './clone.ts'
import { soakSandboxes } from './sandboxes.ts'
import { Loss, rest, Side } from './side.ts'
import { makeWorld } from './world.ts'

const usage = `npm run soak -- [options]
  --minutes <n>      how long, 10 by default; one line is printed for each
  --seed <text>      the seed of the random choices
  --directory <dir>  where to work
  --sandboxes <n>    instead, so many sandboxes with a grant and two laptops; needs ip netns
  --every <seconds>  how far the writes of one of them are apart on average, 10 by default
  --plain            them as plain processes, without network namespaces`
const minuteMs = 60_000
/** A kill comes at any time of its minute except the first seconds. */
const killFromMs = 5000
const secret = 'passphrase-7d1c0b'

/** The worst values of either process in one minute. */
class Minute {
  #rss = 0
  #stall = 0

  add({ rss, stall }: Pulse): void {
    this.#rss = Math.max(this.#rss, rss)
    this.#stall = Math.max(this.#stall, stall)
  }

  describe(number: number, [a, b]: readonly [Side, Side]): string {
    const packs = [a, b].map(({ place }) => {
      const names = readdirSync(join(place.directory, 'objects/pack'))
      return names.filter((name) => name.endsWith('.pack')).length
    })
    return (
      `minute ${number}: ${a.commands + b.commands} commands and ${a.syncs + b.syncs} syncs so ` +
      `far, ${Math.round(this.#rss / 1e6)} MB, longest stall ${Math.round(this.#stall)} ms, ` +
      `${Math.max(a.countHandles(), b.countHandles())} open files, ${packs.join(' and ')} packs`
    )
  }
}

async function soak(minutes: number, seed: string, directory: string | undefined): Promise<void> {
  const { remote, places } = await makeWorld(scratchDirectory(directory))
  const choose = seededChoice(`${seed} kills`)
  let minute = new Minute()
  const onPulse = (pulse: Pulse): void => minute.add(pulse)
  // The second side leaves the processors to the first, which the figures are about.
  const sides = [
    await Side.start('a', places[0], { seed, lanes: 4, restMs: 0, onPulse }),
    await Side.start('b', places[1], { seed, lanes: 1, restMs: 100, onPulse }),
  ] as const
  const work = Promise.all(sides.map((side) => side.work()))
  const plan = async (): Promise<void> => {
    for (let number = 1; number <= minutes; number += 1) {
      minute = new Minute()
      const killAt = killFromMs + choose(minuteMs - 2 * killFromMs)
      await rest(killAt)
      await sides[choose(2)]?.kill()
      if (number === Math.ceil(minutes / 2)) await redact(sides[0])
      await rest(minuteMs - killAt)
      console.log(minute.describe(number, sides))
    }
    for (const side of sides) side.stop()
  }
  await Promise.all([work, plan()])
  console.log(await converge(sides, remote))
  for (const side of sides) await side.ask({ type: 'close' })
}

/** Writes a secret, replaces it and erases the version that had it. */
async function redact(side: Side): Promise<void> {
  const path = '/secret.md'
  await side.ask({ type: 'write', path, line: `the ${secret} is here` })
  await side.ask({ type: 'replace', path, from: `the ${secret} is here\n`, to: '' })
  await side.ask({ type: 'redact', text: secret })
}

/** Syncs both clones and checks that all heads are equal and hold everything acknowledged. */
async function converge([a, b]: readonly [Side, Side], remote: string): Promise<string> {
  for (const side of [a, b, a, b]) await side.ask({ type: 'sync' })
  for (const holder of [a, b]) for (const writer of [a, b]) await holder.checkLinesOf(writer)
  const heads = new Set([run('git', ['rev-parse', 'main'], { cwd: remote }).toString().trim()])
  let checked = 0
  for (const side of [a, b]) {
    const answer = await side.ask({ type: 'prove', text: secret })
    const proof: Proof = JSON.parse(String(answer))
    heads.add(proof.head)
    checked = proof.versions
    if (proof.residues > 0) throw new Loss('What was redacted is still there')
  }
  if (heads.size > 1) throw new Loss('The clones and the remote have different heads')
  run('git', ['fsck', '--strict', '--no-dangling'], { cwd: remote })
  const lines = a.lines.acknowledged + b.lines.acknowledged
  return `${lines} lines, ${checked} versions verified on both sides: nothing acknowledged is lost`
}

/** Throws a TypeError if the command line is invalid. */
async function main(): Promise<void> {
  const { values } = parseArgs({
    options: {
      minutes: { type: 'string', default: '10' },
      seed: { type: 'string', default: '1' },
      directory: { type: 'string' },
      sandboxes: { type: 'string' },
      every: { type: 'string', default: '10' },
      plain: { type: 'boolean', default: false },
    },
  })
  const { seed, directory, plain } = values
  const minutes = wholeNumber('minutes', values.minutes)
  if (values.sandboxes === undefined) return soak(minutes, seed, directory)
  const sandboxes = wholeNumber('sandboxes', values.sandboxes)
  const everyMs = 1000 * wholeNumber('every', values.every)
  await soakSandboxes({ sandboxes, minutes, seed, everyMs, directory, plain })
}

function wholeNumber(name: string, text: string): number {
  const value = Number(text)
  if (Number.isSafeInteger(value) && value > 0) return value
  throw new TypeError(`--${name} takes a whole number from 1 on`)
}

try {
  await main()
  process.exit(0)
} catch (error) {
  if (error instanceof TypeError) console.error(`${error.message}\n${usage}`)
  else console.error(error instanceof Loss ? `lost: ${error.message}` : error)
  process.exit(error instanceof TypeError ? 2 : 1)
}
