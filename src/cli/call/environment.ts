// The only file of cli/ that reads environment variables and inspects the standard streams. All
// others get these facts as a value. docs/CLI.md lists the variables.

import { hostname } from 'node:os'
import { join, resolve } from 'node:path'
import { cloneNameOf, findGrant, type NamedGrant } from '../../home/grant.ts'
import {
  baseDirectoryOf,
  type DefaultPlaces,
  defaultPlaces,
  findAbsolute,
  findVariable,
  homeDirectoryOf,
} from '../../home/places.ts'

const COLUMNS_DEFAULT = 80

export interface Terminal {
  readonly input: boolean
  readonly output: boolean
  readonly errors: boolean
  /** Standard output is a terminal that has colours and can scroll. */
  readonly capable: boolean
  /** Width of standard error. */
  readonly columns: number
  /** Width of standard output. */
  readonly width: number
}

/** Reading a path throws `invalid_input` if it depends on a home directory that is not known. */
export interface Environment {
  readonly storeDirectory: string
  readonly identityFile: string
  readonly identityIsNamed: boolean
  /** The text of an identity, for a machine that has no file for it. */
  readonly identityText: string | undefined
  readonly serverDirectory: string
  readonly stateDirectory: string
  readonly passphraseFile: string | undefined
  readonly newPassphraseFile: string | undefined
  readonly recoveryKeyFile: string | undefined
  readonly operatorSecretFile: string | undefined
  /** A grant to open the store with, and the address of its remote. */
  readonly grant: NamedGrant | undefined
  /** The store if it is named by its id, `memstore_…`: one of an engine. */
  readonly namedStore: string | undefined
  /** The address of a database that several servers share; it may hold a password. */
  readonly engineAddress: string | undefined
  /** Defaults of its options, for commands without them. */
  readonly engineCertificates: string | undefined
  readonly engineIsInsecure: boolean
  readonly engineIsUnnamed: boolean
  /** The key of an account of the Memory Stores API, or a file with it. */
  readonly anthropicApiKey: string | undefined
  readonly anthropicApiKeyFile: string | undefined
  /** A file with certificates in PEM, to trust for remotes too. */
  readonly certificatesFile: string | undefined
  /** A shell command, as git takes it. */
  readonly editor: string | undefined
  /** A shell command that shows long answers on a terminal. */
  readonly pager: string | undefined
  /** The user wants no colours anywhere (no-color.org). */
  readonly noColour: boolean
  /** Where the system keeps a user's run-time files, often in RAM. */
  readonly runtimeDirectory: string | undefined
  readonly homeDirectory: string
  /** Where the terminal agent of this name keeps what it knows of this user. */
  readonly claudeDirectory: string
  /** Where an organization puts settings for it that take precedence over those of the user. */
  readonly claudePolicyDirectory: string
  /** Where basic-memory may keep its configuration, the first place that has one. */
  readonly basicMemoryDirectories: readonly string[]
  readonly loginName: string | undefined
  /** What the system calls this machine. */
  readonly hostName: string
  /** `PATH`, to find git and the editor. */
  readonly searchPath: string
  readonly terminal: Terminal
}

/** The places of the agent programs of this user. */
export interface AgentEnvironment {
  readonly platform: NodeJS.Platform
  readonly homeDirectory: string
  /** Where desktop programs keep what the user has set. */
  readonly configDirectory: string
  /** CLAUDE_CONFIG_DIR. */
  readonly claudeDirectory: string | undefined
  /** CODEX_HOME, or its place in the home directory. */
  readonly codexDirectory: string
  readonly opencodeDirectory: string
  /** The session that has started this process, by the agent program's own id. */
  readonly session: string | undefined
  /** Where a program that was started with no variable but HOME looks for the store. */
  readonly usualPlaces: DefaultPlaces
}

/** The meaning of each variable, for help and documentation. */
export const variables: Readonly<Record<string, string>> = {
  GITLOCKET_STORE: 'The store; else `$XDG_DATA_HOME/gitlocket/store`',
  GITLOCKET_IDENTITY_FILE: 'The secret of this device; else `$XDG_CONFIG_HOME/gitlocket/identity`',
  GITLOCKET_IDENTITY:
    'The secret itself, for `serve` and what manages it, where there is no such file',
  GITLOCKET_STATE_DIRECTORY:
    'State outside the store that reveals a rollback; else `$XDG_STATE_HOME/gitlocket`',
  GITLOCKET_PASSPHRASE_FILE: 'A file with the passphrase, for `init`, `join`, `recover`',
  GITLOCKET_NEW_PASSPHRASE_FILE:
    'A file with the new passphrase, for `key passwd`, `device remove --rotate-secrets`',
  GITLOCKET_RECOVERY_KEY_FILE: 'A file with the recovery key, for `join`, `recover`',
  GITLOCKET_OPERATOR_SECRET_FILE:
    'A file with an operator secret, for `init`, `join`, `recover`, `key recovery`, `serve`',
  GITLOCKET_GRANT:
    'A grant, `GLKG1-…`: opens the store of GITLOCKET_REMOTE without `join`; see `grant give`',
  GITLOCKET_GRANT_FILE: 'A file with a grant, in place of GITLOCKET_GRANT',
  GITLOCKET_REMOTE: 'The address of the remote, for a grant',
  GITLOCKET_FULL: '1 has a grant begin with the whole history, verified from the first commit on',
  GITLOCKET_MAX_AGE:
    'With a grant: a duration such as 36h or 7d; refuses a remote that shows an older state',
  GITLOCKET_ENGINE: 'The database of servers that share one: see `engine init`',
  GITLOCKET_ENGINE_CA: 'A file with certificates to trust for it, as `--engine-ca` names one',
  GITLOCKET_ENGINE_INSECURE: '1 allows plaintext to another machine, as `--engine-insecure`',
  GITLOCKET_ENGINE_UNNAMED: '1 is for PgBouncer before 1.21, as `--engine-unnamed`',
  GITLOCKET_TOKEN:
    '`token` or `user:token`, for https remotes at GITLOCKET_TOKEN_HOST alone; else git ' +
    'credential helpers',
  GITLOCKET_TOKEN_HOST:
    'The host that GITLOCKET_TOKEN is sent to: `host` or `host:port`, as in the address',
  ANTHROPIC_API_KEY: 'The key for `import --from memory-stores`',
  ANTHROPIC_API_KEY_FILE: 'A file with the key for that import, which takes precedence',
  'GIT_SSH_COMMAND, GIT_SSH':
    'The ssh command for remotes, as in git, which `core.sshCommand` of git names too',
  GIT_SSL_CAINFO:
    'A file with certificates (PEM) to trust for https remotes, added to the usual ones; else ' +
    '`http.sslCAInfo` and `http.sslCAPath` of git, also for one address, and those of the system',
  'HTTPS_PROXY, ALL_PROXY, NO_PROXY':
    'The HTTP proxy for https remotes, and the hosts that need none, as for git and curl, also ' +
    'in lower case; `http.proxy` of git takes precedence',
  'VISUAL, EDITOR': 'The editor of `edit`',
  'GITLOCKET_PAGER, PAGER':
    'The pager for long answers on a terminal, `cat` for none; else `less -FRX`',
  CLAUDE_CONFIG_DIR: 'Where Claude Code keeps its files, for `setup` and `import`; else the home',
  BASIC_MEMORY_CONFIG_DIR:
    'Where basic-memory keeps its configuration, for `import`; else as basic-memory does',
  CLAUDE_CODE_SESSION_ID:
    'Set by Claude Code: the session that `mcp` records, unless a hook knows a newer one',
  NO_COLOR: 'No colours, unless --color is given',
}

interface GivenOptions {
  text(name: string): string | undefined
}

/** --store and --engine take precedence over the variables. */
export function readEnvironment(given: GivenOptions | undefined): Environment {
  const storeOption = given?.text('store')
  const granted = takeGrant()
  const places = defaultPlaces(process.env, granted && cloneNameOf(granted))
  return {
    grant: granted,
    get storeDirectory() {
      return storeOption === undefined ? places.directory : resolve(storeOption)
    },
    get identityFile() {
      return places.identityFile
    },
    identityIsNamed: places.identityIsNamed,
    get serverDirectory() {
      return places.serverDirectory
    },
    get stateDirectory() {
      return places.stateDirectory
    },
    get homeDirectory() {
      return homeDirectoryOf(process.env)
    },
    get claudeDirectory() {
      return variable('CLAUDE_CONFIG_DIR') ?? join(homeDirectoryOf(process.env), '.claude')
    },
    claudePolicyDirectory:
      process.platform === 'darwin'
        ? '/Library/Application Support/ClaudeCode'
        : '/etc/claude-code',
    get basicMemoryDirectories() {
      return basicMemoryDirectories()
    },
    ...readVariables(),
    namedStore: [storeOption ?? variable('GITLOCKET_STORE')].find((text) => isStoreId(text)),
    engineAddress: given?.text('engine') ?? takeVariable('GITLOCKET_ENGINE'),
    hostName: hostname(),
    terminal: readTerminal(),
  }
}

function isStoreId(text: string | undefined): boolean {
  return text !== undefined && /^memstore_[0-7][0-9a-hjkmnp-tv-z]{25}$/.test(text)
}

/** As basic-memory resolves them; older versions know no XDG_CONFIG_HOME. */
function basicMemoryDirectories(): readonly string[] {
  const named = variable('BASIC_MEMORY_CONFIG_DIR')
  if (named !== undefined) return [resolve(named)]
  const config = findAbsolute(process.env, 'XDG_CONFIG_HOME')
  const own = join(homeDirectoryOf(process.env), '.basic-memory')
  return config === undefined ? [own] : [join(config, 'basic-memory'), own]
}

/** The facts that variables state by themselves. */
function readVariables() {
  return {
    identityText: takeVariable('GITLOCKET_IDENTITY'),
    passphraseFile: variable('GITLOCKET_PASSPHRASE_FILE'),
    newPassphraseFile: variable('GITLOCKET_NEW_PASSPHRASE_FILE'),
    recoveryKeyFile: variable('GITLOCKET_RECOVERY_KEY_FILE'),
    operatorSecretFile: variable('GITLOCKET_OPERATOR_SECRET_FILE'),
    engineCertificates: variable('GITLOCKET_ENGINE_CA'),
    engineIsInsecure: variable('GITLOCKET_ENGINE_INSECURE') === '1',
    engineIsUnnamed: variable('GITLOCKET_ENGINE_UNNAMED') === '1',
    anthropicApiKey: variable('ANTHROPIC_API_KEY'),
    anthropicApiKeyFile: variable('ANTHROPIC_API_KEY_FILE'),
    certificatesFile: variable('GIT_SSL_CAINFO'),
    editor: variable('VISUAL') ?? variable('EDITOR'),
    pager: variable('GITLOCKET_PAGER') ?? variable('PAGER'),
    noColour: variable('NO_COLOR') !== undefined,
    runtimeDirectory: findAbsolute(process.env, 'XDG_RUNTIME_DIR'),
    loginName: variable('LOGNAME') ?? variable('USER'),
    searchPath: variable('PATH') ?? '/usr/bin:/bin',
  }
}

export function readAgentEnvironment(): AgentEnvironment {
  const { platform } = process
  return {
    platform,
    get homeDirectory() {
      return homeDirectoryOf(process.env)
    },
    get configDirectory() {
      return platform === 'darwin'
        ? join(homeDirectoryOf(process.env), 'Library/Application Support')
        : baseDirectoryOf(process.env, 'XDG_CONFIG_HOME', '.config')
    },
    claudeDirectory: variable('CLAUDE_CONFIG_DIR'),
    get codexDirectory() {
      return variable('CODEX_HOME') ?? join(homeDirectoryOf(process.env), '.codex')
    },
    get opencodeDirectory() {
      return join(baseDirectoryOf(process.env, 'XDG_CONFIG_HOME', '.config'), 'opencode')
    },
    session: variable('CLAUDE_CODE_SESSION_ID'),
    get usualPlaces() {
      return defaultPlaces({ HOME: homeDirectoryOf(process.env) })
    },
  }
}

/** The few variables that a desktop gives to the programs that it starts, with additions. */
export function desktopVariables(others: Readonly<Record<string, string>>): NodeJS.ProcessEnv {
  const names = ['HOME', 'LOGNAME', 'USER', 'PATH', 'LANG', 'TMPDIR']
  const kept = names.flatMap((name) => {
    const value = variable(name)
    return value === undefined ? [] : [[name, value]]
  })
  return { ...Object.fromEntries(kept), ...others }
}

/** As `takeVariable`. */
function takeGrant(): NamedGrant | undefined {
  try {
    return findGrant(process.env)
  } finally {
    takeVariable('GITLOCKET_GRANT')
  }
}

/** A secret: no program that this one starts may have it. */
function takeVariable(name: string): string | undefined {
  const value = variable(name)
  delete process.env[name]
  return value
}

/** Whether unexpected errors are printed with their stack; that may show plaintext. */
export function wantsDebugging(): boolean {
  return variable('NODE_DEBUG') === 'gitlocket'
}

/** The variables of this process with additions, for a child process. */
export function variablesWith(others: Readonly<Record<string, string>>): NodeJS.ProcessEnv {
  return { ...process.env, ...others }
}

function readTerminal(): Terminal {
  const dumb = variable('TERM') === 'dumb'
  return {
    input: process.stdin.isTTY,
    output: process.stdout.isTTY,
    errors: process.stderr.isTTY && !dumb,
    capable: process.stdout.isTTY && !dumb,
    columns: columnsOf(process.stderr),
    width: columnsOf(process.stdout),
  }
}

/** A terminal that does not know its width has 0. */
function columnsOf(stream: NodeJS.WriteStream): number {
  return stream.isTTY && stream.columns > 0 ? stream.columns : COLUMNS_DEFAULT
}

function variable(name: string): string | undefined {
  return findVariable(process.env, name)
}
