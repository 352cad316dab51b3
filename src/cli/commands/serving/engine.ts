// `engine init|check|upgrade|scrub`: the database that several servers share.

import type { EngineReport } from '../../../engine/check.ts'
import { withIdentityFile } from '../../../home/identity-file.ts'
import type { Answer, Command, Context, Input } from '../../call/command.ts'
import { engineOf, engineOptions } from '../../store/engine.ts'
import { newStoreOptions, recoveryOf, withEngineErrors } from '../../store/server.ts'
import { wire } from '../../text/wire.ts'

export const commands: readonly Command[] = [
  {
    name: 'engine init',
    summary: 'Make the tables for servers that share a PostgreSQL database',
    options: {
      ...engineOptions,
      '--owner-card <file>': newStoreOptions['--owner-card <file>'] ?? '',
    },
    notes: [
      'Changes no existing table. All servers have the same identity and operator secret, which ' +
        'are made here if they are missing: give both files to each server, and keep a copy ' +
        'elsewhere. A password in --engine is seen by other users of this machine: rather set ' +
        'GITLOCKET_ENGINE.',
    ],
    run: named(engineInit),
  },
  {
    name: 'engine check',
    summary: 'Show whether a database fits, and what could be lost with it',
    options: engineOptions,
    notes: ['The exit code is 1 with warnings.'],
    run: named(engineCheck),
  },
  {
    name: 'engine upgrade',
    summary: 'Let servers write formats that earlier releases cannot read',
    options: engineOptions,
    notes: [
      'Run it once all servers have been upgraded: it refuses while one of an earlier release ' +
        'runs. Earlier releases then refuse the database. It can be repeated.',
    ],
    run: named(engineUpgrade),
  },
  {
    name: 'engine scrub',
    summary: 'Rewrite the tables, so that no file of the primary holds erased rows',
    options: engineOptions,
    notes: [
      'Servers wait in the meantime. The log of the database, its backups and snapshots keep the ' +
        'bytes until they expire.',
    ],
    run: named(engineScrub),
  },
]

const WARNED = 1

/** Errors of it are about the engine. */
function named(run: Command['run']): Command['run'] {
  return (context, input) => withEngineErrors(context, async () => run(context, input))
}

async function engineInit(context: Context, input: Input): Promise<Answer> {
  const { environment } = context
  const options = engineOf(context, input)
  const { initEngine } = await import('../../../engine/engine.ts')
  const prepare = async (): Promise<void> => {
    await initEngine(options)
    await recoveryOf(context, input)
  }
  if (environment.identityText === undefined) await withIdentityFile(environment, prepare)
  else await prepare()
  const identityFile = environment.identityText === undefined ? environment.identityFile : null
  const whose = identityFile === null ? 'of GITLOCKET_IDENTITY' : `in ${identityFile}`
  return {
    text: [
      'The engine is ready.',
      `Identity  ${whose}: each server needs it, and a copy belongs elsewhere`,
      'Next      gitlocket serve, with the same engine, on as many machines as you like',
      '',
    ].join('\n'),
    json: { ready: true, ...wire({ identityFile }) },
  }
}

async function engineCheck(context: Context, input: Input): Promise<Answer> {
  const { checkEngine } = await import('../../../engine/check.ts')
  const report = await checkEngine(engineOf(context, input), context.clock)
  return {
    text: reportText(report),
    json: wire({ ...report }),
    ...(report.warnings.length > 0 && { exitCode: WARNED }),
  }
}

async function engineUpgrade(context: Context, input: Input): Promise<Answer> {
  const { upgradeEngine } = await import('../../../engine/engine.ts')
  const { before, after } = await upgradeEngine(engineOf(context, input))
  const text =
    before === after
      ? `All servers write format ${after} already.\n`
      : `All servers write format ${after} from now on; it was ${before}.\n`
  return { text, json: { format: after, ...wire({ formatBefore: before }) } }
}

async function engineScrub(context: Context, input: Input): Promise<Answer> {
  const { scrubEngine } = await import('../../../engine/engine.ts')
  await scrubEngine(engineOf(context, input))
  return { text: 'The tables are rewritten.\n', json: { scrubbed: true } }
}

function reportText(report: EngineReport): string {
  const { serverVersion, roundTripMs, clockAheadMs, isPooled, servers, olderServers } = report
  const [major, minor] = [Math.floor(serverVersion / 10_000), serverVersion % 10_000]
  return [
    `Database    PostgreSQL ${major}.${minor}${isPooled ? ', behind a pooler' : ''}`,
    `Durability  synchronous_commit ${report.synchronousCommit}, ` +
      `${report.hasSynchronousStandby ? 'with' : 'without'} a synchronous standby` +
      `, fsync ${report.fsync ? 'on' : 'off'}`,
    `Round trip  ${roundTripMs.toFixed(1)} ms`,
    `Clock       ${clockAheadMs} ms ahead`,
    `Servers     ${servers}${olderServers > 0 ? `, ${olderServers} of an earlier release` : ''}`,
    ...report.warnings.map((warning) => `Warning     ${warning}`),
    '',
  ].join('\n')
}
