// Syncs the clone of an auditor, once: `node trail-process.mjs <directory> <state directory>
// <identity file>`.

import { readFileSync } from 'node:fs'
import { parseIdentity, syncTrail } from '../../dist/index.js'

const [directory, stateDirectory, identityFile] = process.argv.slice(2)
const identity = await parseIdentity(readFileSync(identityFile, 'utf8'))
await syncTrail({ directory, stateDirectory, identity })
