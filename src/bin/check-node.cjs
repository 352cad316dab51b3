// Ends the process with one sentence if this Node.js is too old. Everything else is in a syntax that
// an old one refuses with a stack of errors, so this file must stay in the oldest one (ES5), and
// must be the first that runs: before the command line, and before `npm start`.

'use strict'

var needed = require('../../package.json').engines.node.replace('>=', '').split('.')
var running = process.versions.node.split('.')

if ((running[0] - needed[0] || running[1] - needed[1]) < 0) {
  // In pieces that fit a line: a call over several gets a last comma, which Node.js 6 refuses.
  var what = 'gitlocket needs Node.js ' + needed.join('.') + ' or newer'
  var found = process.versions.node + ' (' + process.execPath + ')'
  process.stderr.write(what + ', and this is ' + found + '\n')
  process.exit(1)
}
