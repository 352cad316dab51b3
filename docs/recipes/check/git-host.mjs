// A git host on a local port: `git http-backend` over one bare repository, for anyone with the
// password. Knows nothing of gitlocket.

import { execFileSync, spawn } from 'node:child_process'
import { createServer } from 'node:http'

/** Makes the repository at `directory`, and serves it. */
export async function startGitHost(directory, password) {
  execFileSync('git', ['init', '--quiet', '--bare', '--initial-branch=main', directory])
  execFileSync('git', ['-C', directory, 'config', 'http.receivepack', 'true'])
  const expected = `Basic ${Buffer.from(`git:${password}`).toString('base64')}`
  const server = createServer((request, response) => {
    if (request.headers.authorization === expected) return serve(directory, request, response)
    response.writeHead(401, { 'www-authenticate': 'Basic realm="git"' }).end()
  })
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve))
  const url = `http://127.0.0.1:${server.address().port}/store.git`
  const close = () => {
    server.closeAllConnections()
    server.close()
  }
  return { url, close }
}

function serve(directory, request, response) {
  const { pathname, search } = new URL(request.url, 'http://localhost')
  const length = request.headers['content-length']
  const child = spawn('git', ['http-backend'], {
    env: {
      PATH: process.env.PATH,
      GIT_PROJECT_ROOT: directory,
      GIT_HTTP_EXPORT_ALL: '1',
      PATH_INFO: pathname.replace('/store.git', ''),
      QUERY_STRING: search.slice(1),
      REQUEST_METHOD: request.method,
      CONTENT_TYPE: request.headers['content-type'] ?? '',
      ...(length && { CONTENT_LENGTH: length }),
      REMOTE_USER: 'git',
    },
    stdio: ['pipe', 'pipe', 'ignore'],
  })
  child.stdin.on('error', () => undefined)
  request.pipe(child.stdin)
  const chunks = []
  child.stdout.on('data', (chunk) => chunks.push(chunk))
  child.stdout.on('end', () => answer(Buffer.concat(chunks), response))
}

/** From CGI, where the status is a header. */
function answer(said, response) {
  const end = said.indexOf('\r\n\r\n')
  for (const line of said.toString('latin1', 0, end).split('\r\n')) {
    const [name, value] = line.split(': ')
    if (name === 'Status') response.statusCode = Number.parseInt(value, 10)
    else response.setHeader(name, value)
  }
  response.end(said.subarray(end + 4))
}
