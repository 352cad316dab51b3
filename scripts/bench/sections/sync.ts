// Sync of a long history over a path and over https, beside stock git, which moves the same commits
// between repositories of the same kind: all of it, one change, and a merge of two clones that
// diverged.

import { mkdirSync } from 'node:fs'
import {
  addRemote,
  changeNotes,
  type Clone,
  cloneOf,
  joinClone,
  OpenClone,
  secondClone,
  syncClone,
} from '../clones.ts'
import { gitClone, gitFetch, gitPush } from '../contenders/git-transfer.ts'
import { type Host, type HostKind, hostKinds } from '../hosts.ts'
import { type Absent, reasonOf } from '../lane.ts'
import type { Section } from '../report.ts'
import { besideStore, type Site, withCopy } from '../site.ts'
import type { SyncAnswer } from '../sync-child.ts'
import { revisionLine } from '../workload.ts'
import {
  type Counted,
  type HostResult,
  type Merge,
  reportSync,
  Samples,
  type Transfer,
} from './sync-report.ts'

/** Of the changes of one clone, each tenth is to a memory that the other one has changed too. */
const sharedEvery = 10

export async function measureSync(site: Site): Promise<Section> {
  const results: (HostResult | Absent)[] = []
  for (const kind of hostKinds) {
    site.context.log(`sync over ${kind.name}`)
    results.push(await withCopy(site, (copy) => measureHost(copy, kind)))
  }
  return reportSync(site, results)
}

async function measureHost(site: Site, kind: HostKind): Promise<HostResult | Absent> {
  let host: Host
  const directory = besideStore(site, 'host')
  mkdirSync(directory)
  try {
    host = await kind.start(directory)
  } catch (error) {
    return { name: kind.name, reason: reasonOf(error) }
  }
  try {
    const second = await secondClone(site)
    return await new HostBench(site, host, second).measure()
  } finally {
    await host.close()
  }
}

class HostBench {
  readonly #site: Site
  readonly #host: Host
  readonly #first: Clone
  readonly #second: Clone
  /** Where we push to, and where git pushes the same commits to. */
  readonly #ours: string
  readonly #peers: string
  #changes = 0

  constructor(site: Site, host: Host, second: Clone) {
    this.#site = site
    this.#host = host
    this.#first = cloneOf(site)
    this.#second = second
    this.#ours = host.addRepository('ours.git')
    this.#peers = host.addRepository('peers.git')
  }

  async measure(): Promise<HostResult> {
    const { name } = this.#host
    await addRemote(this.#first, this.#ours)
    const all = new Samples('first push')
    await this.#push(all)
    const joined = new Samples('first join')
    await this.#join(joined)
    const whole = [all.transfer(), joined.transfer()]
    const one = [await this.#pushChanges(), await this.#fetchChanges()]
    return { name, whole, one, merge: await this.#mergeClones() }
  }

  async #pushChanges(): Promise<Transfer> {
    const samples = new Samples('push of one change')
    await this.#eachTurn(async (opened) => {
      await this.#change(this.#first, opened)
      await this.#push(samples, opened)
    })
    return samples.transfer()
  }

  async #fetchChanges(): Promise<Transfer> {
    const samples = new Samples('fetch of one change')
    const fetchByGit = () => gitFetch(this.#gitClone, this.#ours, this.#host)
    // What is there already is not what is measured.
    await this.#sync(this.#second)
    await fetchByGit()
    await this.#eachTurn(async (opened) => {
      await this.#change(this.#second)
      await this.#sync(this.#second)
      await this.#syncFirst(samples, opened)
      samples.git(await this.#counted(fetchByGit))
    })
    return samples.transfer()
  }

  /** By turns without and with a process that has the first clone open, and has synced before. */
  async #eachTurn(take: (opened: OpenClone | undefined) => Promise<void>): Promise<void> {
    const opened = new OpenClone(this.#first, this.#host)
    try {
      await opened.sync()
      for (let turn = 0; turn < this.#site.context.scale.transfers; turn += 1) {
        await take(undefined)
        await take(opened)
      }
    } finally {
      await opened.close()
    }
  }

  /** What the first clone has, by us to one repository and by git to the other. */
  async #push(samples: Samples, opened?: OpenClone): Promise<void> {
    const { directory } = this.#first
    await this.#syncFirst(samples, opened)
    samples.git(await this.#counted(() => gitPush(directory, this.#peers, this.#host)))
  }

  async #syncFirst(samples: Samples, opened: OpenClone | undefined): Promise<void> {
    if (opened === undefined) samples.first(await this.#sync(this.#first))
    else samples.later(await this.#counted(() => opened.sync()))
  }

  async #join(samples: Samples): Promise<void> {
    const [clone, host, url] = [this.#second, this.#host, this.#ours]
    samples.first(await this.#counted(() => Promise.resolve(joinClone(clone, host, url))))
    const at = besideStore(this.#site, '.')
    samples.git(await this.#counted(() => gitClone(at, url, host)))
  }

  async #mergeClones(): Promise<Merge> {
    const { apart } = this.#site.context.scale
    const paths = this.#site.history.notes.map(({ path }) => path)
    const shared = Math.floor(apart / sharedEvery)
    const start = apart - shared
    await this.#sync(this.#second)
    const line = this.#newLine()
    const revise = (content: string) => content.replace(/^.*/, line)
    await changeNotes(this.#first, paths.slice(0, apart), revise)
    await changeNotes(this.#second, paths.slice(start, start + apart), remark)
    await this.#sync(this.#second)
    const merging = await this.#sync(this.#first)
    const taking = await this.#sync(this.#second)
    if (merging.value.outcomes < shared || merging.value.head !== taking.value.head) {
      throw new Error('The clones were not merged')
    }
    return { shared, merging, taking }
  }

  /** One memory, off the clock. */
  #change(clone: Clone, opened?: OpenClone): Promise<void> {
    const { notes } = this.#site.history
    const path = notes[this.#changes % notes.length]?.path ?? ''
    const line = this.#newLine()
    if (opened !== undefined) return opened.change(path, line)
    return changeNotes(clone, [path], (content) => content.replace(/^.*/, line))
  }

  /** The line that all changes of the bench change, as no other change has made it. */
  #newLine(): string {
    this.#changes += 1
    return revisionLine(90_000_000 + this.#changes)
  }

  #sync(clone: Clone): Promise<Counted<SyncAnswer>> {
    return this.#counted(() => Promise.resolve(syncClone(clone, this.#host)))
  }

  async #counted<T>(work: () => Promise<T>): Promise<Counted<T>> {
    const before = await this.#host.countBytes()
    const value = await work()
    const after = await this.#host.countBytes()
    const wire = before === undefined || after === undefined ? undefined : after - before
    return { value, wire }
  }

  /** What `git clone` makes. */
  get #gitClone(): string {
    return besideStore(this.#site, 'clone.git')
  }
}

function remark(content: string): string {
  return `${content.trimEnd()} seen\n`
}
