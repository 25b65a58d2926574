// A page on which your colleagues upload CSV files. The API token stays in this server: the page never sees it.
//   SLUICE_API=https://api.example.com SLUICE_TOKEN=… PORT=8081 node server.mjs
// The bucket needs a CORS rule that lets this page's origin send PUT with Content-Type and Content-MD5.
// This server signs nobody in. Put it behind your own sign-in.
import { readFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import { extname, join, normalize } from 'node:path'
import { buffer } from 'node:stream/consumers'

const { SLUICE_API = '', SLUICE_TOKEN = '', CLIENT = 'node_modules/@sluice/client' } = process.env
const types = { '.html': 'text/html; charset=utf-8', '.js': 'text/javascript' }

/** What the page may ask of the API: to announce a file, and the state of an import. */
const allowed = [
  ['POST', /^\/v3\/user_profiles\/bulk_import$/],
  ['GET', /^\/v3\/user_profiles\/bulk_import\/[\w-]+$/],
]

const server = createServer(async (request, response) => {
  const { pathname, search } = new URL(request.url ?? '/', 'http://page')
  try {
    if (allowed.some(([method, path]) => method === request.method && path.test(pathname)))
      return await passOn(request, response, pathname + search)
    const path = normalize(pathname)
    const file = path.startsWith('/client/') ? join(CLIENT, path.slice('/client/'.length)) : page(path)
    const content = await readFile(file)
    response.writeHead(200, { 'Content-Type': types[extname(file)] ?? 'text/plain' }).end(content)
  } catch (error) {
    const status = ['ENOENT', 'EISDIR'].includes(error.code) ? 404 : 502
    response.writeHead(status).end()
  }
})

server.listen(Number(process.env.PORT ?? 8081), () => console.log(`listening on port ${server.address().port}`))

function page(path) {
  return join(import.meta.dirname, path === '/' ? 'index.html' : 'none')
}

async function passOn(request, response, path) {
  const headers = { 'X-Service-Token': SLUICE_TOKEN, 'Content-Type': request.headers['content-type'] ?? '' }
  const key = request.headers['idempotency-key']
  if (key !== undefined) headers['Idempotency-Key'] = key
  const body = request.method === 'POST' ? await buffer(request) : null
  const answer = await fetch(SLUICE_API + path, { method: request.method, headers, body })
  const passed = ['content-type', 'retry-after', 'x-import-id', 'x-request-id']
  response.writeHead(answer.status, Object.fromEntries([...answer.headers].filter(([name]) => passed.includes(name))))
  response.end(Buffer.from(await answer.arrayBuffer()))
}
