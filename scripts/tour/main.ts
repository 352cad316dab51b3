// `npm start`: the product in a few seconds, without prompts. An agent works in a temporary store;
// one session is poisoned, and its user undoes it and erases the key that it leaked; a second
// machine joins; git and the official SDK look at the result. Exits above 0 if anything differs.

import { readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import process from 'node:process'
import { createStore, type MemoryStore, openStore } from 'gitlocket'
import { memoryTool } from 'gitlocket/anthropic'
import {
  ask,
  check,
  git,
  gitlocket,
  heading,
  type Machine,
  makeMachine,
  print,
  secondMachine,
} from './programs.ts'
import { showServer } from './server.ts'
import {
  conventions,
  friday,
  handover,
  leakedKey,
  monday,
  saturday,
  type Session,
} from './sessions.ts'

/** What Ines writes before the attack is found; it must survive. */
const later = {
  conventions: '- Staging is reset on Mondays at 04:00 UTC',
  handover: '04:30 backup of the database to the bucket',
}
const certificate = 'certificate.json'
const keyFile = 'leaked-key.txt'

process.stdout.on('error', () => process.exit())
try {
  await tour()
} catch (error) {
  const message = error instanceof Error ? error.message : String(error)
  process.stderr.write(`\nThe tour stopped: ${message}\n`)
  process.exitCode = 1
}

async function tour(): Promise<void> {
  print('gitlocket keeps the memory of AI agents in an encrypted git repository. An agent works in')
  print('sessions. One of them is poisoned: it is undone, and the key that it leaked is erased. A')
  print('second machine joins, and the host sees none of it. The guard is off until it happened.')
  const machine = await makeMachine()
  const { store, recoveryKey } = await createStore({ ...machine, refuseSecrets: false })
  await store.close()
  for (const session of [monday, friday]) await replay(machine, session)
  await undo(machine)
  const erased = redact(machine)
  gitlocket(machine, ['settings', '--guard', 'on'], 0)
  await replay(machine, saturday)
  await showSecondMachine(machine, recoveryKey)
  await showHostView(machine, erased)
  await withStore(machine, (opened) => showServer(machine, opened))
  showNext(machine)
}

/** Each session opens the store again, as another process would. */
async function replay(machine: Machine, { id, request, commands }: Session): Promise<void> {
  heading(`Session ${id}: ${request}`)
  await withStore(machine, async (store) => {
    const tool = memoryTool(store, { session: id })
    for (const { input, refusal } of commands) {
      if (input.command !== 'view') print(`  ${input.command} ${input.path}`)
      if (refusal === undefined) await tool.run(input)
      else {
        const error = await tool.run(input).then(() => '', String)
        check(error.includes(refusal), `${input.command} is refused: ${refusal}`)
        print(`    refused: ${refusal}`)
      }
    }
  })
}

async function undo(machine: Machine): Promise<void> {
  heading('Later, Ines writes into the same memories, and then questions a line')
  const write = (path: string, line: number, text: string): void => {
    const words = ['--line', String(line), '--text', text, '--actor', 'ines']
    gitlocket(machine, ['insert', path, ...words], 0)
  }
  write(conventions, 2, later.conventions)
  write(handover, 1, later.handover)
  gitlocket(machine, ['blame', conventions], -3)
  heading('She undoes what that session wrote; what others wrote since then stays')
  gitlocket(machine, ['rollback', '--session', friday.id, '--as', 'ines', '--yes'], 6)
  const [rules = '', notes = ''] = await withStore(machine, async (store) => [
    (await store.read(conventions))?.content,
    (await store.read(handover))?.content,
  ])
  check(!`${rules}${notes}`.includes('paste.example'), 'its lines are removed')
  check(rules.includes(later.conventions) && notes.includes(later.handover), 'later lines stay')
}

/** No current version holds the key any more, but the history does. Returns the erased objects. */
function redact(machine: Machine): readonly string[] {
  heading('The key is still in the history: she erases it there, permanently')
  const file = join(machine.root, keyFile)
  writeFileSync(file, `${leakedKey}\n`, { mode: 0o600 })
  const what = ['--matching-file', keyFile, '--literal', '--reason-code', 'leaked_secret']
  const how = ['--certificate', certificate, '--as', 'ines', '--yes']
  gitlocket(machine, ['redact', ...what, ...how], 1)
  rmSync(file)
  gitlocket(machine, ['verify', '--absence', '--certificate', certificate], -1)
  const { object_ids: ids }: { readonly object_ids: readonly string[] } = JSON.parse(
    readFileSync(join(machine.root, certificate), 'utf8'),
  )
  return ids
}

async function showSecondMachine(machine: Machine, recoveryKey: string): Promise<void> {
  heading('A second machine: one remote, one secret')
  if (ask('git', '--version') === undefined) return print('Left out: git is not installed')
  const remote = join(machine.root, 'host.git')
  git(machine, ['init', '--quiet', '--bare', '--initial-branch=main', remote])
  gitlocket(machine, ['create', 'on-call.md', '--text', '- 02:10 disk of db-2 is full'], 0)
  gitlocket(machine, ['remote', 'add', 'origin', remote], 1)
  gitlocket(machine, ['sync'], 1)
  print('On the laptop, with the recovery key in a file and the address that `status` shows:')
  const laptop = secondMachine(machine)
  writeFileSync(laptop.recoveryKeyFile, `${recoveryKey}\n`, { mode: 0o600 })
  const { address } = await withStore(machine, (store) => store.status())
  gitlocket(laptop, ['join', `${remote}#${address}`, '--name', 'laptop'], 1)
  rmSync(laptop.recoveryKeyFile)
  heading('Both write while disconnected, and nothing is lost')
  const insert = ['insert', 'on-call.md', '--line', '1', '--text']
  gitlocket(laptop, [...insert, '- 02:25 Ines moved the logs away'], 0)
  gitlocket(machine, [...insert, '- 02:20 alert silenced for an hour'], 0)
  gitlocket(laptop, ['sync'], 0)
  gitlocket(machine, ['sync'], 4)
  gitlocket(machine, ['cat', 'on-call.md'], 4)
  gitlocket(laptop, ['sync'], 0)
  const [here, there] = [machine, laptop].map((one) => gitlocket(one, ['cat', 'on-call.md'], 0))
  check(here === there, 'both machines have the same text')
  check(/02:25[^]*02:20/.test(here ?? ''), 'the text has the lines of both')
}

/** Stock git on the closed store. */
async function showHostView(machine: Machine, erased: readonly string[]): Promise<void> {
  heading('What the host of a remote sees: stock git on the same store, without a key')
  if (ask('git', '--version') === undefined) return print('Left out: git is not installed')
  if (ask('ssh-keygen', '-?') === undefined) print('Left out: signatures need ssh-keygen')
  else await showSignatures(machine)
  git(machine, ['ls-tree', '-r', '--long', 'main'], 2)
  const [path = ''] = git(machine, ['ls-tree', '-r', '--name-only', 'main', 'm/']).split('\n')
  const sealed = git(machine, ['cat-file', 'blob', `main:${path}`])
  check(sealed.startsWith('GLK1'), 'a memory is an envelope')
  print(`  ${path} begins with GLK1; its ${sealed.length} characters are ciphertext`)
  const asked = git(machine, ['cat-file', '--batch-check'], 0, `${erased.join('\n')}\n`)
  const missing = asked.split('\n').filter((line) => line.endsWith(' missing')).length
  check(missing === erased.length, 'git has no object that was erased')
  print(`git has none of the ${erased.length} objects that the certificate names.`)
}

async function showSignatures(machine: Machine): Promise<void> {
  const signers = await withStore(machine, (store) => store.maintenance.allowedSigners())
  writeFileSync(join(machine.root, 'allowed_signers'), signers)
  const setting = ['-c', 'gpg.ssh.allowedSignersFile=../allowed_signers']
  const marks = git(machine, [...setting, 'log', '--format=%G?', 'main'])
    .trim()
    .split('\n')
  check(
    marks.every((mark) => mark === 'G'),
    'git accepts every signature',
  )
  print(`git accepts the signature of each of the ${marks.length} commits.`)
}

function showNext({ root, variables }: Machine): void {
  heading('Continue with this store')
  for (const [name, value] of Object.entries(variables)) print(`  export ${name}=${value}`)
  print('  npx gitlocket ls')
  print('  npx gitlocket log --redacted')
  print(`  rm -r ${root}  # when you are done`)
}

async function withStore<T>(
  machine: Machine,
  work: (store: MemoryStore) => T | Promise<T>,
): Promise<T> {
  const store = await openStore(machine)
  try {
    return await work(store)
  } finally {
    await store.close()
  }
}
