// A Worker for tests: takes the steps of a request with a store in RAM, which a Durable Object
// keeps open for the next request at `/held`. Checks the known answers if its bundle has them.

import * as bundle from 'gitlocket/web'

const steps = {
  async open(held, { password, ...options }) {
    const onAuth = async ({ attempt }) => {
      return attempt > 1 ? undefined : { username: 'git', password }
    }
    held.store = await bundle.openRemote({ ...options, onAuth })
    held.tool = bundle.memoryTool(held.store, { session: 'worker', ToolError: Error })
  },
  tool: ({ tool }, command) => tool.run(command),
  read: async ({ store }, path) => (await store.read(path))?.content ?? null,
  search: async ({ store }, query) => {
    return (await store.search({ query, allVersions: true })).data.length
  },
  sync: ({ store }) => store.sync(),
  close: ({ store }) => store.close(),
  answers: () => Object(bundle).checkKnownAnswers(),
}

/** The results, or the error with which they end. */
async function take(held, request) {
  const results = []
  try {
    for (const [name, ...values] of await request.json()) {
      results.push((await steps[name](held, ...values)) ?? null)
    }
  } catch ({ code, message }) {
    results.push({ code, message })
  }
  return Response.json(results)
}

export class Holder {
  #held = {}

  fetch(request) {
    return take(this.#held, request)
  }
}

export default {
  fetch(request, env) {
    if (new URL(request.url).pathname !== '/held') return take({}, request)
    return env.HOLDER.get(env.HOLDER.idFromName('held')).fetch(request)
  },
}
