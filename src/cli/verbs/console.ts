// The verb of the web console; a part of ../table.ts.

import type { Command } from '../call/command.ts'
import { authorOptions } from '../call/options.ts'

export const consoleCommand: Command = {
  name: 'console',
  summary: 'Show the store in a browser of this machine',
  positionals: [],
  options: [
    { name: 'port', value: 'number', summary: 'The port; else one that is free' },
    { name: 'read-only', summary: 'Refuse every change' },
    { name: 'no-open', summary: 'Print the address, and open no browser' },
    ...authorOptions.filter(({ name }) => name === 'actor' || name === 'session'),
  ],
  notes: [
    'Prints one line with the address, which lets one tab in, once, within a minute; with ' +
      '--no-open or without a desktop, open it yourself. `Open another tab` of the page makes ' +
      'another. It listens on 127.0.0.1 alone. With --port, bookmarks stay valid.',
    'Lock in the page, 15 minutes without use, Ctrl-C and SIGTERM close the store, empty the ' +
      'pages, and end it. A reader or an auditor sees what the role may see.',
  ],
  run: async (...call) => (await import('../commands/console.ts')).openInBrowser(...call),
}
