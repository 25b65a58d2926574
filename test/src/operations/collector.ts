import { createServer } from 'node:http'
import { json } from 'node:stream/consumers'
import { onTestFinished } from 'vitest'
import { z } from 'zod'
import { listenOn } from '../environment/free-port.ts'

/** A received span, with the name of the service that sent it. */
export interface Span {
  service: string
  traceId: string
  /** Span kind as an OTLP number: 2 is a server span. */
  kind: number
  name: string
  attributes: unknown
}

const exported = z.object({
  resourceSpans: z.array(
    z.object({
      resource: z.object({
        attributes: z.array(
          z.object({ key: z.string(), value: z.looseObject({ stringValue: z.string().optional() }) }),
        ),
      }),
      scopeSpans: z.array(
        z.object({
          spans: z.array(
            z.looseObject({ traceId: z.string(), kind: z.number(), name: z.string(), attributes: z.unknown() }),
          ),
        }),
      ),
    }),
  ),
})

/** Starts a collector of OTLP over HTTP that records every span. It closes when the test ends. */
export async function startCollector(): Promise<{ url: string; spans: Span[] }> {
  const spans: Span[] = []
  const server = createServer(async (request, response) => {
    const { resourceSpans } = exported.parse(await json(request))
    for (const { resource, scopeSpans } of resourceSpans) {
      const service = resource.attributes.find(({ key }) => key === 'service.name')?.value.stringValue ?? ''
      for (const span of scopeSpans.flatMap((scope) => scope.spans)) spans.push({ service, ...span })
    }
    response.writeHead(200, { 'Content-Type': 'application/json' }).end('{}')
  })
  const port = await listenOn(server)
  onTestFinished(() => void server.close())
  return { url: `http://127.0.0.1:${port}`, spans }
}
