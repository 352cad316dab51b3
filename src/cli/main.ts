// The entry of the command line, which src/bin/gitlocket.cjs starts as a bundle: runs one command
// with the arguments, streams and signals of this process, and sets its exit code.

import { runProgram } from './program.ts'
import { listenForInterrupts } from './terminal/interrupts.ts'

endQuietlyWithoutReader()
// A server continues without the reader of its log, which may be restarted.
process.stderr.on('error', () => undefined)
// Not awaited: a bundle in CommonJS has no top-level await.
void main()

async function main(): Promise<void> {
  process.exitCode = await runProgram(process.argv.slice(2), listenForInterrupts)
}

/** A reader that closes the pipe, as in `gitlocket log | head`, is no failure. */
function endQuietlyWithoutReader(): void {
  process.stdout.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code === 'EPIPE') process.exit()
    process.stderr.write(`gitlocket: Could not write the answer: ${error.code ?? 'unknown'}\n`)
    process.exit(9)
  })
}
