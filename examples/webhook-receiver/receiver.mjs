// Receives webhooks, checks their signatures, and prints one line for each event.
//   WEBHOOK_SECRET=whsec_… PORT=8080 node receiver.mjs
// `sluice webhooks add --app APP --url https://…` prints the secret.
import { createServer } from 'node:http'
import { text } from 'node:stream/consumers'
import { Webhook } from 'standardwebhooks'

const webhook = new Webhook(process.env.WEBHOOK_SECRET ?? '')

/** A request is repeated until it is answered with 2xx, so an event may arrive twice. A real program stores its ID. */
const seen = new Set()

const server = createServer(async (request, response) => {
  try {
    const event = webhook.verify(await text(request), request.headers)
    const id = request.headers['webhook-id']
    if (!seen.has(id)) console.log(describe(event))
    seen.add(id)
    response.writeHead(204).end()
  } catch (error) {
    // Nobody who cannot sign learns more than this.
    console.error(`refused: ${error.message}`)
    response.writeHead(400).end()
  }
})

server.listen(Number(process.env.PORT ?? 8080), () => console.log(`listening on port ${server.address().port}`))

function describe({ type, data }) {
  if (!type.startsWith('import.')) return type
  return `${type}: ${data.file_name ?? data.import_id}, ${data.rows_applied} applied, ${data.rows_failed} failed`
}
