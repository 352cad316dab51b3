// `serve backup|restore`: a copy of all stores of a server, made while it runs, and its way back.

import { resolve } from 'node:path'
import { backupHost, type BackupReport, restoreHost } from '../../hosting/backup.ts'
import type { HostNotice } from '../../hosting/data-directory.ts'
import type { Answer, Input } from '../command.ts'
import type { Context } from '../context.ts'
import { withServerPlace } from '../server-place.ts'
import { countText } from '../sizes.ts'

export function serveBackup(context: Context, input: Input): Promise<Answer> {
  const target = resolve(input.argument(0))
  return withServerPlace(context, input, (place) =>
    reporting(`Copied to ${target}`, (notice) => backupHost({ ...place, notice }, target)),
  )
}

export function serveRestore(context: Context, input: Input): Promise<Answer> {
  const source = resolve(input.argument(0))
  return withServerPlace(context, input, (place) =>
    reporting(`Restored to ${place.dataDirectory}`, (notice) => {
      return restoreHost(source, { ...place, notice })
    }),
  )
}

async function reporting(
  done: string,
  work: (notice: (notice: HostNotice) => void) => Promise<BackupReport>,
): Promise<Answer> {
  const failures: unknown[] = []
  const { stores, failed } = await work(({ error }) => failures.push(error))
  const lost = failed.map((storeId) => `  not ${storeId}\n`)
  return {
    text: `${done}: ${countText(stores, 'store', 'stores')}\n${lost.join('')}`,
    json: { stores, failed },
    failures,
    ...(failed.length > 0 && { exitCode: INCOMPLETE }),
  }
}

/** As for a history that is damaged: what is listed is not there. */
const INCOMPLETE = 11
