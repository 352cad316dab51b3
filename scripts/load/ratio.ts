// `npm run load -- --ratio`: guarded updates over HTTP and by the library, in turns in one run: the
// time of one after another, and the throughput of many clients.

import { scratchDirectory } from '../bench/machine.ts'
import { timed } from '../bench/rounds.ts'
import type { Client } from './client.ts'
import { httpUpdater, libraryUpdater, repeat, type Updater } from './updates.ts'

const rounds = 3
const updatesAlone = 500
const updatesTogether = 40

export async function measureRatio(client: Client, clients: number): Promise<readonly string[]> {
  const byLibrary = await libraryUpdater(scratchDirectory())
  const overHttp = await httpUpdater(client)
  const lines: string[] = []
  for (let round = 0; round < rounds; round += 1) {
    const alone = async ({ begin }: Updater): Promise<number> => {
      const update = await begin(`alone ${round}`)
      return (await timed(() => repeat(update, updatesAlone))) / updatesAlone
    }
    const [library, http] = [await alone(byLibrary), await alone(overHttp)]
    lines.push(
      `one after another: ${library.toFixed(2)} ms by the library, ${http.toFixed(2)} ms ` +
        `over HTTP: ${(http / library).toFixed(2)} ×`,
    )
    const together = async ({ begin }: Updater): Promise<number> => {
      const numbers = Array.from({ length: clients }, (_, number) => number)
      const updates = await Promise.all(numbers.map((number) => begin(`${round} ${number}`)))
      const all = () => Promise.all(updates.map((update) => repeat(update, updatesTogether)))
      return (1000 * clients * updatesTogether) / (await timed(all))
    }
    const [most, served] = [await together(byLibrary), await together(overHttp)]
    lines.push(
      `${clients} clients: ${most.toFixed(0)} a second by the library, ${served.toFixed(0)} ` +
        `over HTTP: ${((100 * served) / most).toFixed(0)} %`,
    )
  }
  await byLibrary.close()
  return lines
}
