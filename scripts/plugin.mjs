// A step of `npm run build`: writes the plugin for an agent program into dist/plugin, which is also
// the marketplace that offers it. It starts the installed command `gitlocket`, so that a plugin
// copied elsewhere keeps working.
//
// Its hooks are commands. Hooks that call a tool of our running server were tried: when a session
// starts the server is not connected yet, when it ends the server has been stopped, and no tool
// syncs. For a prompt they work, but cannot depend on the user's setting.

import { cpSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

const root = fileURLToPath(new URL('..', import.meta.url))
const output = join(root, 'dist', 'plugin')
const { name, version, description, license, keywords } = JSON.parse(
  readFileSync(join(root, 'package.json'), 'utf8'),
)

const about = { name, version, description, author: { name }, license, keywords }

const plugin = {
  ...about,
  userConfig: {
    recall_tokens: {
      type: 'number',
      title: 'Memories for each prompt',
      description:
        'About how many tokens of matching memories to add to each prompt, from 100 to 5000. ' +
        '0 adds none',
      default: 0,
      min: 0,
      max: 5000,
    },
  },
}

const marketplace = {
  name,
  description: 'The plugin of gitlocket',
  owner: { name },
  plugins: [{ ...about, source: './', category: 'productivity' }],
}

const mcp = { mcpServers: { gitlocket: { command: 'gitlocket', args: ['mcp'] } } }

/** The variable has the setting of the user. Until it is set no process of Node.js starts. */
const recall =
  '[ "${CLAUDE_PLUGIN_OPTION_RECALL_TOKENS:-0}" -gt 0 ] 2>/dev/null || exit 0; ' +
  'gitlocket hook user-prompt --tokens "$CLAUDE_PLUGIN_OPTION_RECALL_TOKENS" || exit 0'

/** Exit code 2 refuses a prompt or a compaction, even if an old version lacks the command. */
const quietly = (command) => `${command} || exit 0`

/** The first one has no shell: it notes the session for the process that has started it. */
const hooks = {
  SessionStart: hook(
    { command: 'gitlocket', args: ['hook', 'session-start'], timeout: 10 },
    'startup|resume|clear|compact|fork',
  ),
  UserPromptSubmit: hook({ command: recall, timeout: 10 }),
  PostToolUse: hook(
    { command: quietly('gitlocket hook file-written'), timeout: 30, async: true },
    'Write|Edit|MultiEdit',
  ),
  PreCompact: hook({ command: quietly('gitlocket hook pre-compact'), timeout: 30, async: true }),
  SessionEnd: hook({ command: quietly('gitlocket hook session-end'), timeout: 10 }),
}

rmSync(output, { recursive: true, force: true })
write('.claude-plugin/plugin.json', plugin)
write('.claude-plugin/marketplace.json', marketplace)
write('.mcp.json', mcp)
write('hooks/hooks.json', { hooks })
cpSync(join(root, 'scripts', 'plugin', 'skills'), join(output, 'skills'), { recursive: true })

function hook(fields, matcher) {
  return [{ ...(matcher && { matcher }), hooks: [{ type: 'command', ...fields }] }]
}

function write(file, value) {
  const path = join(output, file)
  mkdirSync(dirname(path), { recursive: true })
  writeFileSync(path, `${JSON.stringify(value, undefined, 2)}\n`)
}
