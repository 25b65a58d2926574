import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'

/** A request that the server has received. */
interface Received {
  method: string
  path: string
  key: string | undefined
  length: string | undefined
  body: string
}

/** An answer, or `cut` for a connection that breaks off before the answer. */
export type ScriptedAnswer = 'cut' | { status: number; headers?: Record<string, string>; body?: unknown }

/** A server that sends prepared answers one after another. It imitates an API and a storage with failures. */
export interface ScriptedServer extends AsyncDisposable {
  url: string
  received: Received[]
}

/**
 * Starts a server whose answers follow `script`. `script` gets the server's address, and returns the answers in order.
 */
export async function startScriptedServer(script: (url: string) => ScriptedAnswer[]): Promise<ScriptedServer> {
  const received: Received[] = []
  const server = createServer(async (request, response) => {
    const answer = answers[received.length]
    const { method = '', url: path = '', headers } = request
    const key = headers['idempotency-key']
    const length = headers['content-length']
    received.push({ method, path, key: key?.toString(), length, body: '' })
    const entry = received.at(-1)
    if (answer === 'cut' || answer === undefined) return void request.socket.destroy()
    const body = await text(request)
    if (entry !== undefined) entry.body = body
    response.writeHead(answer.status, answer.headers)
    response.end(typeof answer.body === 'string' ? answer.body : JSON.stringify(answer.body))
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const answers = script(url)
  return {
    url,
    received,
    async [Symbol.asyncDispose]() {
      server.close()
      server.closeAllConnections()
    },
  }
}
