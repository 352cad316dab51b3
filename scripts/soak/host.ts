// The git host of the sandboxes, started by sandboxes.ts in its own place on the network: serves
// the bare repository that the first argument names, at the address in the second one.

import { argv } from 'node:process'
import { startGitHost } from '../bench/http-backend.ts'

const [, , repository = '', address = ''] = argv
const { url } = await startGitHost(repository, address)
console.log(url)
// The program that started it is gone.
process.stdin.on('end', () => process.exit(0)).resume()
