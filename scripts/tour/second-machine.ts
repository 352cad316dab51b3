// A second machine, and a host between the two that neither has to trust: a bare repository in a
// directory. Both write into one memory while disconnected, and end with the same commits.

import { spawnSync } from 'node:child_process'
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type MemoryStore, parseIdentity } from 'gitlocket'
import { childEnvironment, type Place } from './place.ts'
import { ask, showCommand } from './programs.ts'
import { heading, inFull, isFull, print } from './screen.ts'

type WithStore = <T>(place: Place, work: (store: MemoryStore) => T | Promise<T>) => Promise<T>

const path = 'on-call.md'
const noted = '- 02:10 disk of db-2 full, grown by 50 GB'

export async function showSecondMachine(
  place: Place,
  recoveryKey: string,
  withStore: WithStore,
): Promise<void> {
  heading('A second machine: one remote, one secret')
  if (ask('git', '--version') === undefined) {
    print('  A remote in a directory needs git, which is not installed here.')
    return
  }
  const [remote, laptop] = [join(place.root, 'host.git'), laptopOf(place)]
  makeRemote(place, remote)
  showCommand(place, ['create', path, '--text', noted], { full: 2, short: 0 })
  showCommand(place, ['remote', 'add', 'origin', remote], 1)
  showCommand(place, ['sync'], { full: 3, short: 1 })
  const address = `${remote}#${await withStore(place, stateOf)}`
  joinRemote(laptop, address, recoveryKey)
  showCommand(laptop, ['cat', path], { full: 3, short: 0 })
  await writeApart(place, laptop)
  const identity = await parseIdentity(readFileSync(laptop.identityFile, 'utf8'))
  await expectEqual(place, { ...laptop, identity }, withStore)
}

function laptopOf(place: Place): Place {
  const root = join(place.root, 'laptop')
  mkdirSync(root)
  return {
    ...place,
    root,
    directory: join(root, 'store'),
    stateDirectory: join(root, 'state'),
    identityFile: join(root, 'identity'),
  }
}

function makeRemote(place: Place, remote: string): void {
  const args = ['init', '--quiet', '--bare', '--initial-branch=main', remote]
  const { status } = spawnSync('git', args, { cwd: place.root, env: childEnvironment(place) })
  check(status === 0, 'git makes a bare repository')
}

/** What `gitlocket status` shows behind the address. */
async function stateOf(store: MemoryStore): Promise<string> {
  return (await store.status()).address
}

function joinRemote(laptop: Place, address: string, recoveryKey: string): void {
  const where = 'with the recovery key in a file and the address that `status` shows'
  print(`${isFull ? '\n' : ''}On the laptop, ${where}:`)
  const keyFile = join(laptop.root, 'recovery-key')
  writeFileSync(keyFile, `${recoveryKey}\n`, { mode: 0o600 })
  try {
    showCommand({ ...laptop, recoveryKeyFile: keyFile }, ['join', address, '--name', 'laptop'], {
      full: 9,
      short: 1,
    })
  } finally {
    rmSync(keyFile)
  }
}

async function writeApart(place: Place, laptop: Place): Promise<void> {
  heading('Both write while disconnected, and nothing is lost')
  const insert = ['insert', path, '--line', '1', '--text']
  await inFull(() => {
    showCommand(laptop, [...insert, '- 02:25 Ines moved the logs away'], 1)
    showCommand(place, [...insert, '- 02:20 alert silenced for an hour'], 1)
    showCommand(laptop, ['sync'], 3)
  })
  showCommand(place, ['sync'], { full: 7, short: 4 })
  showCommand(place, ['cat', path], 4)
  await inFull(() => {
    showCommand(place, ['conflicts'], 5)
    showCommand(laptop, ['sync'], 3)
  })
}

async function expectEqual(place: Place, laptop: Place, withStore: WithStore): Promise<void> {
  const read = (one: Place) =>
    withStore(one, async (store) => {
      await store.maintenance.verify()
      const { head, headFingerprint } = await store.status()
      return {
        head,
        words: headFingerprint.join(' '),
        text: (await store.read(`/${path}`))?.content,
      }
    })
  const [here, there] = [await read(place), await read(laptop)]
  check(here.head === there.head, 'both machines have the same head')
  check((here.text ?? '').split('\n').length >= 3, 'the note has the lines of both')
  print('\nBoth machines verify the same history, and show the same words:')
  print(`  ${here.words}`)
}

function check(holds: boolean, what: string): void {
  if (!holds) throw new Error(`The tour expects that ${what}`)
}
