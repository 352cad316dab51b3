#!/usr/bin/env node
// The command line's entry: one command on the words, streams and signals of this process, whose
// exit code it sets.

import { listenForInterrupts } from './interrupts.ts'
import { runProgram } from './program.ts'

endQuietlyWithoutReader()
process.exitCode = await runProgram(process.argv.slice(2), listenForInterrupts)

/** `gitlocket log | head` is no failure. */
function endQuietlyWithoutReader(): void {
  process.stdout.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code === 'EPIPE') process.exit()
    process.stderr.write(`gitlocket: Could not write the answer: ${error.code ?? 'unknown'}\n`)
    process.exit(9)
  })
}
