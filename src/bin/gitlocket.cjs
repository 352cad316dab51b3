#!/usr/bin/env node
// The command that the package installs: starts the command line once Node.js is new enough for it.

'use strict'

require('./check-node.cjs')
require('./load-bundle.cjs').start()
