// Starts the command line. A file of its own: an old Node.js cannot even read an `import()`.

'use strict'

void import('../../dist/cli/main.js')
