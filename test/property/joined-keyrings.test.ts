// Owners who change memories and keyrings in any order, and meet in any order (FORMAT §6.4, §7.2):
// whatever they join, both decoders accept, and all end with the same members.

import * as fc from 'fast-check'
import { beforeAll, expect, test } from 'vitest'
import { type Directory, directoryHash } from '../../src/format/directory.ts'
import { generateIdentity, type Identity } from '../../src/keys/identity.ts'
import { recoveryKeyIdentity } from '../../src/keys/recovery.ts'
import { type NewRow, withKem, withMember, withoutMember } from '../support/forge-fault.ts'
import { mergeForks } from '../support/forge-merge.ts'
import { idOf } from '../support/forge-seal.ts'
import type { Forge } from '../support/forge.ts'
import { full, seed } from '../support/seed.ts'
import { accepted, memory, standardHistory, verdicts } from '../support/standard-forge.ts'

const REPLICAS = 3
const DEVICES = 4

let start: Forge
let owners: readonly Identity[]
let devices: readonly Identity[]
beforeAll(async () => {
  const { forge } = await standardHistory('joined at random')
  const others = [await forge.join('owner'), await forge.join('owner')]
  const made: Identity[] = []
  for (let i = 0; i < DEVICES; i += 1) made.push(await generateIdentity(forge.random))
  start = forge
  owners = [forge.founder, ...others]
  devices = made
})

interface Step {
  readonly by: number
  readonly does: 'write' | 'add' | 'forge' | 'remove' | 'role' | 'drop' | 'key' | 'meet'
  readonly what: number
}

const step: fc.Arbitrary<Step> = fc.record({
  by: fc.nat(REPLICAS - 1),
  does: fc.constantFrom('write', 'add', 'forge', 'remove', 'role', 'drop', 'key', 'meet', 'meet'),
  what: fc.nat(DEVICES - 1),
})

const memories = [
  { memoryId: memory.a, path: '/a.md' },
  { memoryId: memory.b, path: '/dir/b.md' },
] as const

class World {
  readonly replicas: Forge[]
  #count: number

  constructor(replicas: readonly Forge[], count = 0) {
    this.replicas = [...replicas]
    this.#count = count
  }

  take({ by, does, what }: Step): void {
    if (does === 'meet') this.meet(by, what % REPLICAS)
    else if (does === 'write') this.#write(by, what)
    else this.#rekey(by, does, what)
  }

  /** The second replica goes on as it was. */
  meet(by: number, from: number): void {
    const [ours, theirs] = [this.#at(by), this.#at(from)]
    const isWithin = (a: Forge, b: Forge): boolean => b.entries.some(({ oid }) => oid === a.head)
    if (isWithin(theirs, ours)) return
    if (isWithin(ours, theirs)) {
      this.replicas[by] = theirs.fork()
      return
    }
    const known = new Set(ours.entries.map(({ oid }) => oid))
    const there = new Set(theirs.entries.map(({ oid }) => oid))
    const changed = (forge: Forge, others: ReadonlySet<string>): boolean =>
      forge.entries.some(({ oid, record }) => record.kind === 'keyring' && !others.has(oid))
    const rows = [...mergeForks(ours, theirs).open.keys()].map((id) => this.#row(id, 'together'))
    const fault = { author: owners[by] ?? start.founder }
    if (changed(ours, there) && changed(theirs, known)) ours.joinWith(theirs, { rows, fault })
    else ours.merge(theirs, rows, fault)
  }

  #at(index: number): Forge {
    return this.replicas[index] ?? start
  }

  #write(by: number, what: number): void {
    const { memoryId } = memories[what % memories.length] ?? memories[0]
    this.#at(by).change([this.#row(memoryId, `by ${by}`)], { author: owners[by] ?? start.founder })
  }

  #row(memoryId: string, content: string): NewRow {
    this.#count += 1
    const isIt = (label: string): boolean => [label, start.idOf(label)].includes(memoryId)
    const path = memories.find((one) => isIt(one.memoryId))?.path ?? '/a.md'
    const versionId = idOf(`version ${this.#count}`)
    return {
      memoryId,
      path,
      operation: 'modified',
      content: `${content} ${this.#count}`,
      versionId,
    }
  }

  #rekey(by: number, does: Step['does'], what: number): void {
    const forge = this.#at(by)
    const device = devices[what] ?? start.founder
    // A device that was removed does not come back.
    const { directory } = forge
    const known = [...directory.devices, ...directory.removed]
    const isThere = known.some((one) => one.deviceId === device.deviceId)
    const fault = { author: owners[by] ?? start.founder }
    if (does === 'add' || does === 'forge') {
      const identity = does === 'add' ? device : withKem(device, start.founder.kem)
      if (!isThere) forge.keyring((next) => withMember(next, identity, 'writer'), { fault })
      return
    }
    const epoch = forge.newEpoch()
    forge.keyring((next) => this.#changed(next, device, does), { fault, epoch })
  }

  #changed(next: Directory, { deviceId }: Identity, does: Step['does']): Directory {
    this.#count += 1
    if (does === 'drop') return { ...next, recovery: next.recovery.slice(1) }
    if (does === 'key') {
      const pair = recoveryKeyIdentity(start.storeId, start.random(32))
      const keys = { signingKey: pair.signing.publicKey, kemKey: pair.kem.publicKey }
      const entry = { slotId: idOf(`slot ${this.#count}`), type: 'recovery', ...keys } as const
      const recovery = [...next.recovery, entry]
      return { ...next, recovery: recovery.toSorted((a, b) => (a.slotId < b.slotId ? -1 : 1)) }
    }
    if (does === 'remove') return withoutMember(next, { deviceId })
    return {
      ...next,
      devices: next.devices.map((one) => {
        return one.deviceId === deviceId && one.role !== 'reader'
          ? { ...one, role: 'reader', roleBy: 'owner', roleSet: next.number }
          : one
      }),
    }
  }
}

/**
 * What a directory says, but for its place in the history: a device whose keys differ is removed by
 * the join that meets both.
 */
function membersOf(forge: Forge): string {
  const removed = forge.directory.removed.map((one) => ({ ...one, removed: 1 }))
  const rest = { number: 0, previous: [], founderRandom: undefined, removed }
  return Buffer.from(directoryHash(forge.storeId, { ...forge.directory, ...rest })).toString('hex')
}

test(
  'any order of changes and meetings ends in a history that is accepted',
  { tags: 'slow', timeout: 1_800_000 },
  async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 6, maxLength: 14 }), async (steps) => {
        const world = new World(owners.map(() => start.fork()))
        for (const one of steps) world.take(one)
        const apart = world.replicas.map((forge) => forge.fork())
        for (const forge of apart) expect(await verdicts(forge)).toEqual(accepted)
        for (const from of [1, 2]) world.meet(0, from)
        const [first] = world.replicas
        expect(first && (await verdicts(first))).toEqual(accepted)
        // The other way round, with other joins in between.
        const other = new World(apart, 1000)
        other.meet(2, 1)
        other.meet(2, 0)
        const last = other.replicas[2]
        expect(last && (await verdicts(last))).toEqual(accepted)
        expect(last && membersOf(last)).toBe(first && membersOf(first))
      }),
      { seed, numRuns: full ? 200 : 6 },
    )
  },
)
