// `console`: the store in a browser of this machine, until it is locked or stopped. Prints the
// address once; nothing else is told.

import { spawn } from 'node:child_process'
import type { WebConsole } from '../../console/console.ts'
import type { ConsoleSubject } from '../../operations/console/subject.ts'
import type { MemoryStore } from '../../store/memory-store.ts'
import type { Answer, Command, Context, Input } from '../call/command.ts'
import { actorOptions, authorOf } from '../call/options.ts'
import { remoteAccess } from '../machine/remote-access.ts'
import { textsOutside } from '../machine/scratch-directory.ts'
import { pageDirectory } from '../own-package.ts'
import { reportSigner } from '../report/signed.ts'
import { auditHere, getIdentity, withStoreOrTrail } from '../store/open-store.ts'
import { markSeen, readSeen } from '../store/seen-conflicts.ts'

export const commands: readonly Command[] = [
  {
    name: 'console',
    summary: 'Show the store in a browser of this machine',
    options: {
      '--port <number>': 'The port; else one that is free',
      '--read-only': 'Refuse every change',
      '--no-open': 'Print the address, and open no browser',
      ...actorOptions,
    },
    notes: [
      'Prints one line with the address, which lets one tab in, once, within a minute; with ' +
        '--no-open or without a desktop, open it yourself. `Open another tab` of the page makes ' +
        'another. It listens on 127.0.0.1 alone. With --port, bookmarks remain valid.',
      'Lock in the page, 15 minutes without use, Ctrl-C and SIGTERM close the store, empty the ' +
        'pages, and end it. A reader or an auditor sees what the role may see.',
    ],
    run: openInBrowser,
  },
]

type Ending = 'user' | 'idle' | 'stopped'

const endings: Readonly<Record<Ending, string>> = {
  user: 'Locked: the store is closed',
  idle: 'Locked, since no one used it for 15 minutes: the store is closed',
  stopped: 'Ended: the store is closed',
}

async function openInBrowser(context: Context, input: Input): Promise<Answer> {
  const ending = await withStoreOrTrail(
    context,
    (store) => ofMember(context, input, store),
    () => ofAuditor(context, input),
  )
  return { text: '', json: { type: 'console', ended: ending }, note: endings[ending] }
}

async function ofMember(context: Context, input: Input, store: MemoryStore): Promise<Ending> {
  const author = authorOf(context, input)
  const { memberSubject } = await import('../../operations/console/subject.ts')
  const subject = memberSubject({
    store,
    writer: (reason) => store.as(reason === undefined ? author : { ...author, reason }),
    access: input.flag('read-only') ? 'read_only' : 'read_write',
    seen: {
      read: () => readSeen(context, store),
      mark: (versionIds) => markSeen(context, store, versionIds),
    },
    remoteAccess: remoteAccess(context),
    textsOutside: textsOutside(context.environment, store),
    clock: context.clock,
    sign: reportSigner(getIdentity(context.environment), context.clock),
  })
  return await serve(context, input, subject)
}

async function ofAuditor(context: Context, input: Input): Promise<Ending> {
  // Fails here, and not in the page, if there is nothing to see.
  await auditHere(context)
  const { storeDirectory: directory, stateDirectory } = context.environment
  const identity = getIdentity(context.environment)
  const places = { directory, stateDirectory, identity }
  const { clock } = context
  const { auditorSubject } = await import('../../operations/console/subject.ts')
  return await serve(
    context,
    input,
    auditorSubject({ places, clock, sign: reportSigner(identity, clock) }),
  )
}

function serve(context: Context, input: Input, subject: ConsoleSubject): Promise<Ending> {
  const { interrupts, clock } = context
  const port = input.integer('port', 0, 65_535)
  return interrupts.untilStopped('Ended; all writes are safe', async () => {
    const { onlySubject } = await import('../../operations/console/subject.ts')
    const { openConsole } = await import('../../console/console.ts')
    const { readPageFiles } = await import('../../console/page-files.ts')
    const subjects = onlySubject(subject)
    const shown = await openConsole({ subjects, page: readPageFiles(pageDirectory), port, clock })
    try {
      announce(input, shown)
      return await Promise.race([shown.locked, stopped(interrupts.signal)])
    } finally {
      await shown.close()
    }
  })
}

/** Each address has a token of its own: the one that is printed works although another was used. */
function announce(input: Input, { newAddress, url }: WebConsole): void {
  const address = newAddress()
  const json = { type: 'console', url, address }
  process.stdout.write(input.flag('json') ? `${JSON.stringify(json)}\n` : `${address}\n`)
  if (!input.flag('no-open')) openBrowser(newAddress())
}

function stopped(signal: AbortSignal): Promise<Ending> {
  return new Promise((resolve) => {
    signal.addEventListener('abort', () => resolve('stopped'), { once: true })
    if (signal.aborted) resolve('stopped')
  })
}

/** What opens an address, by platform; another one is taken for a desktop of freedesktop.org. */
const openers: Readonly<Record<string, readonly string[]>> = {
  darwin: ['open'],
  // `start` of the shell would read the address as commands.
  win32: ['rundll32', 'url.dll,FileProtocolHandler'],
}

/** Never fails: the address is printed, too. */
export function openBrowser(address: string): void {
  const [program = '', ...first] = openers[process.platform] ?? ['xdg-open']
  const opened = spawn(program, [...first, address], { stdio: 'ignore', detached: true })
  opened.on('error', () => undefined)
  opened.unref()
}
