// `npm run soak`: two clones of a store write, read, ask for versions and sync for minutes, each in
// a process that is killed every minute. A model keeps what was acknowledged, and anything that is
// missing afterwards ends the run with exit code 1. One line is printed per minute.

import { run, scratchDirectory } from '../bench/machine.ts'
import { seededChoice } from '../bench/workload.ts'
import type { Pulse } from './message.ts'
import { Minute } from './minute.ts'
import { toolPath } from './model.ts'
import { type Options, parseOptions, usage } from './options.ts'
import { Loss, Side } from './side.ts'
import { hashOf } from './text-hash.ts'
import { Workload } from './workload.ts'
import { makeWorld } from './world.ts'

const minuteMs = 60_000
/** A kill comes at any time of its minute except the first seconds. */
const killFromMs = 5000
const secret = 'passphrase-7d1c0b'

class Soak {
  readonly #sides: readonly [Side, Side]
  readonly #choose: (bound: number) => number
  #minute = new Minute()
  #kills = 0

  constructor(sides: (onPulse: (pulse: Pulse) => void) => readonly [Side, Side], seed: string) {
    this.#sides = sides((pulse) => this.#minute.add(pulse))
    this.#choose = seededChoice(`${seed} kills`)
  }

  async run(minutes: number): Promise<void> {
    const work = Promise.all(this.#sides.map((side) => side.work()))
    const plan = async (): Promise<void> => {
      for (let number = 1; number <= minutes; number += 1) {
        const redacts = number === Math.ceil(minutes / 2)
        await this.#live(number, redacts)
      }
      for (const side of this.#sides) side.stop()
    }
    await Promise.all([work, plan()])
  }

  async #live(number: number, redacts: boolean): Promise<void> {
    const [first] = this.#sides
    const start = performance.now()
    const before = { commands: this.#commands(), syncs: this.#syncs() }
    this.#minute = new Minute()
    const path = `/shared/${number}.md`
    const create = { command: 'create', path: toolPath(path), file_text: 'start\n' } as const
    await first.ask({ type: 'tool', input: create })
    for (const side of this.#sides) side.shared = path
    const killAt = start + killFromMs + this.#choose(minuteMs - 2 * killFromMs)
    const looking = setInterval(() => void this.#look(), 1000)
    try {
      await Promise.all([this.#killAt(killAt), redacts ? this.#redact(first) : undefined])
      await rest(start + minuteMs - performance.now())
    } finally {
      clearInterval(looking)
    }
    const commands = this.#commands() - before.commands
    const syncs = this.#syncs() - before.syncs
    console.log(this.#minute.describe(number, { commands, syncs, kills: this.#kills }))
  }

  async #killAt(time: number): Promise<void> {
    await rest(time - performance.now())
    await this.#sides[this.#choose(2)]?.kill()
    this.#kills += 1
  }

  /** Writes a secret, overwrites it and erases the version that had it. */
  async #redact(side: Side): Promise<void> {
    const path = toolPath('/shared/secret.md')
    const text = `the ${secret} is here\n`
    await side.ask({ type: 'tool', input: { command: 'create', path, file_text: text } })
    const [old_str, new_str] = [secret, 'nothing']
    await side.ask({ type: 'tool', input: { command: 'str_replace', path, old_str, new_str } })
    await side.ask({ type: 'redact', text: secret })
  }

  async #look(): Promise<void> {
    for (const side of this.#sides) {
      const handles = await side.countHandles().catch(() => undefined)
      this.#minute.look(side.place.directory, handles)
    }
  }

  #commands(): number {
    return this.#sides.reduce((sum, { commands }) => sum + commands, 0)
  }

  #syncs(): number {
    return this.#sides.reduce((sum, { syncs }) => sum + syncs, 0)
  }
}

/** Syncs both clones and checks that all heads are equal and hold everything acknowledged. */
async function converge([a, b]: readonly [Side, Side], remote: string): Promise<string> {
  for (const side of [a, b, a, b]) await side.ask({ type: 'sync' })
  const expected = new Map<string, string>()
  for (const { model } of [a, b]) {
    for (const [path, text] of model.texts) expected.set(path, hashOf(text))
  }
  for (const side of [a, b]) {
    const found = await side.contents()
    const current = [...found].filter(([path]) => !path.startsWith('/shared/'))
    const lost = [...expected].filter(([path, hash]) => found.get(path) !== hash)
    if (lost.length > 0) throw new Loss(`${side.name} lacks ${lost[0]?.[0]} as it was written`)
    if (current.length !== expected.size) throw new Loss(`${side.name} has what was deleted`)
    for (const { lines } of [a, b]) {
      for (const [path, of] of lines) await side.checkLines(path, of)
    }
  }
  const prove = { type: 'prove', text: secret } as const
  const proofs = [await a.ask(prove), await b.ask(prove)].flatMap((proof) => proof ?? [])
  const heads = new Set(proofs.map(({ head }) => head))
  heads.add(run('git', ['-C', remote, 'rev-parse', 'main'], { cwd: remote }).toString().trim())
  if (heads.size > 1) throw new Loss('The clones and the remote have not come to one head')
  for (const { residues, versions } of proofs) {
    if (residues > 0) throw new Loss('What was redacted is still there')
    if (versions < a.changes + b.changes) throw new Loss('The history lacks acknowledged versions')
  }
  run('git', ['-C', remote, 'fsck', '--strict', '--no-dangling'], { cwd: remote })
  const [proof] = proofs
  return `${expected.size} memories, ${proof?.versions} versions verified on both sides`
}

async function main({ minutes, seed, directory }: Options): Promise<void> {
  const scratch = scratchDirectory(directory)
  const { remote, places } = await makeWorld(scratch)
  const newSide = (name: 'a' | 'b', onPulse: (pulse: Pulse) => void): Side => {
    const workload = new Workload(seededChoice(`${seed} ${name}`), `/${name}`)
    // The second side leaves the processors to the first, which the figures are about.
    const pace = name === 'a' ? { atOnce: 4, restMs: 0 } : { atOnce: 1, restMs: 100 }
    return new Side(name, places[name === 'a' ? 0 : 1], workload, pace, onPulse)
  }
  let sides: readonly [Side, Side] | undefined
  const soak = new Soak((onPulse) => (sides = [newSide('a', onPulse), newSide('b', onPulse)]), seed)
  await soak.run(minutes)
  if (sides === undefined) return
  console.log(`${await converge(sides, remote)}: nothing that was acknowledged is lost`)
  for (const side of sides) await side.ask({ type: 'close' })
}

function rest(ms: number): Promise<void> {
  return new Promise((resolve) => {
    setTimeout(resolve, Math.max(0, ms))
  })
}

try {
  await main(parseOptions(process.argv.slice(2)))
  process.exit(0)
} catch (error) {
  if (error instanceof TypeError) console.error(`${error.message}\n${usage}`)
  else console.error(error instanceof Loss ? `lost: ${error.message}` : error)
  process.exit(error instanceof TypeError ? 2 : 1)
}
