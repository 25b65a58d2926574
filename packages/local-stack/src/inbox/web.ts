import { once } from 'node:events'
import type { IncomingMessage } from 'node:http'
import { createClientServer } from '@sluice/service'
import type { Mailbox } from './mailbox.ts'
import { framedHtml, listPage, mailPage, missingPage, styleSheet } from './pages.ts'

/** The inbox's web server. */
export interface WebServer {
  port: number
  close(): Promise<void>
}

const pagePolicy =
  "default-src 'none'; style-src 'self'; frame-src 'self'; img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

/**
 * The policy of a mail's own HTML: it runs no scripts, loads nothing, and has an origin of its own. Links open tabs.
 */
const mailPolicy =
  "sandbox allow-popups allow-popups-to-escape-sandbox; default-src 'none'; style-src 'unsafe-inline'; img-src data:; form-action 'none'; frame-ancestors 'self'"

const commonHeaders = {
  'cache-control': 'no-store',
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
  'referrer-policy': 'no-referrer',
  'x-content-type-options': 'nosniff',
}

/**
 * Serves a mailbox: pages for people, and `GET /api/mails` with all mails as JSON, newest first (design.md §2, Inbox).
 *
 * Answers only requests for this machine's own names. Otherwise a foreign web page could resolve its own name to this
 * server and read the mails (DNS rebinding). Throws the system's error if the port cannot be bound.
 */
export async function startWeb(host: string, port: number, mailbox: Mailbox): Promise<WebServer> {
  const names = new Set(['127.0.0.1', 'localhost', '[::1]', host, `[${host}]`])
  const server = createClientServer((request, response) => {
    const answer = names.has(hostName(request)) ? answerTo(request, mailbox) : foreignHost
    response.writeHead(answer.status, {
      ...commonHeaders,
      'content-security-policy': answer.policy ?? pagePolicy,
      'content-type': `${answer.type}; charset=utf-8`,
      'content-length': Buffer.byteLength(answer.body),
    })
    response.end(answer.body)
  })
  server.listen(port, host)
  await once(server, 'listening')
  const address = server.address()
  return {
    port: typeof address === 'object' && address !== null ? address.port : port,
    async close() {
      server.close()
      server.closeAllConnections()
      await once(server, 'close')
    },
  }
}

interface Answer {
  status: number
  type: 'text/html' | 'text/css' | 'text/plain' | 'application/json'
  body: string
  /** Content-Security-Policy, if it differs from the policy of the pages. */
  policy?: string
}

const foreignHost: Answer = { status: 403, type: 'text/plain', body: 'The inbox answers only on its own address.\n' }
const readOnly: Answer = { status: 405, type: 'text/plain', body: 'The inbox can only be read.\n' }
const missing: Answer = { status: 404, type: 'text/html', body: missingPage() }

function answerTo(request: IncomingMessage, mailbox: Mailbox): Answer {
  if (request.method !== 'GET' && request.method !== 'HEAD') return readOnly
  const path = request.url?.split('?', 1)[0] ?? '/'
  if (path === '/') return { status: 200, type: 'text/html', body: listPage(mailbox.list()) }
  if (path === '/style.css') return { status: 200, type: 'text/css', body: styleSheet }
  if (path === '/api/mails') return { status: 200, type: 'application/json', body: JSON.stringify(mailbox.list()) }
  const [, id = '', part] = /^\/mails\/(\d+)(\/html)?$/.exec(path) ?? []
  const mail = mailbox.find(id)
  if (mail === undefined) return missing
  if (part === undefined) return { status: 200, type: 'text/html', body: mailPage(mail) }
  if (mail.html === null) return missing
  return { status: 200, type: 'text/html', body: framedHtml(mail.html), policy: mailPolicy }
}

/** Returns the name in the Host header, without the port; an empty string if the header is malformed. */
function hostName(request: IncomingMessage): string {
  const address = `http://${request.headers.host ?? ''}`
  return URL.canParse(address) ? new URL(address).hostname : ''
}
