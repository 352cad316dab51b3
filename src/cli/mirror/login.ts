// `mirror login`: starts the watcher of all mirrors when the user logs in, by the means of the
// system: a unit of systemd, or an agent of launchd.

import { join } from 'node:path'
import { systemDisk } from '../../disk/system-disk.ts'
import { CommandError, type Answer, type Context, type Input } from '../call/command.ts'
import { readAgentEnvironment } from '../call/environment.ts'
import { type Launch, launchOf } from '../setup/clients.ts'
import { inTurn } from '../setup/turns.ts'
import { checkWritable, readUserFile, replaceUserFile } from '../setup/user-file.ts'

/** The names of the files, and of what they start. */
const UNIT = 'gitlocket-mirror.service'
const AGENT = 'gitlocket.mirror'

export async function mirrorLogin(context: Context, input: Input): Promise<Answer> {
  const { environment } = context
  if (environment.grant !== undefined) {
    throw new CommandError(
      'permission_denied',
      'What starts at login has no grant',
      'Start `gitlocket mirror --watch` in the sandbox',
    )
  }
  const words = ['mirror', '--watch', ...(input.flag('sync') ? ['--sync'] : [])]
  const launch = launchOf(environment, readAgentEnvironment(), 'user', words)
  const { file, text, next } = startOf(environment.homeDirectory, launch)
  if (!input.flag('write')) {
    return {
      text: `Add this to ${file}, or give --write:\n\n${text}\nThen: ${next}\n`,
      json: { file, text, next, written: false },
    }
  }
  await inTurn(environment, async () => {
    const before = readUserFile(file)
    checkWritable(before)
    await replaceUserFile(systemDisk, before, text)
  })
  return { text: `Wrote ${file}\n\nNext: ${next}\n`, json: { file, text, next, written: true } }
}

interface LoginStart {
  readonly file: string
  readonly text: string
  /** The command that starts it now and at each login. */
  readonly next: string
}

function startOf(home: string, launch: Launch): LoginStart {
  if (process.platform === 'linux') {
    const file = join(home, '.config/systemd/user', UNIT)
    return { file, text: unitText(launch), next: `systemctl --user enable --now ${UNIT}` }
  }
  if (process.platform === 'darwin') {
    const file = join(home, 'Library/LaunchAgents', `${AGENT}.plist`)
    return { file, text: agentText(launch), next: `launchctl load -w ${file}` }
  }
  throw new CommandError(
    'invalid_input',
    'How programs start at login is not known on this system',
    'Start `gitlocket mirror --watch` there by its own means',
  )
}

function unitText({ command, args, env }: Launch): string {
  const variables = Object.entries(env).map(([name, value]) => {
    return `Environment=${unitWord(`${name}=${value}`)}`
  })
  return [
    '[Unit]',
    'Description=gitlocket: keeps files and memories the same',
    '',
    '[Service]',
    ...variables,
    `ExecStart=${[command, ...args].map((word) => unitWord(word, '$$$$')).join(' ')}`,
    'Restart=on-failure',
    'RestartSec=10',
    '',
    '[Install]',
    'WantedBy=default.target',
    '',
  ].join('\n')
}

/**
 * Quoted as systemd.syntax(7) demands. `%` has a meaning in all words, `$` in those of commands.
 */
function unitWord(word: string, dollar = '$$'): string {
  const escaped = word.replaceAll(/["\\]/g, String.raw`\$&`)
  return `"${escaped.replaceAll('%', '%%').replaceAll('$', dollar)}"`
}

function agentText({ command, args, env }: Launch): string {
  const words = [command, ...args].map((word) => `    <string>${xml(word)}</string>`)
  const variables = Object.entries(env).flatMap(([name, value]) => [
    `    <key>${xml(name)}</key>`,
    `    <string>${xml(value)}</string>`,
  ])
  return [
    '<?xml version="1.0" encoding="UTF-8"?>',
    '<!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" ' +
      '"http://www.apple.com/DTDs/PropertyList-1.0.dtd">',
    '<plist version="1.0">',
    '<dict>',
    '  <key>Label</key>',
    `  <string>${AGENT}</string>`,
    '  <key>ProgramArguments</key>',
    '  <array>',
    ...words,
    '  </array>',
    ...(variables.length === 0
      ? []
      : ['  <key>EnvironmentVariables</key>', '  <dict>', ...variables, '  </dict>']),
    '  <key>RunAtLoad</key>',
    '  <true/>',
    '  <key>KeepAlive</key>',
    '  <true/>',
    '</dict>',
    '</plist>',
    '',
  ].join('\n')
}

function xml(text: string): string {
  const names: Readonly<Record<string, string>> = { '&': 'amp', '<': 'lt', '>': 'gt' }
  return text.replaceAll(/[&<>]/g, (character) => `&${names[character]};`)
}
