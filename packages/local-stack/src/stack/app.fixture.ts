// A minimal app: answers on its port with its environment as JSON, or fails at once if FIXTURE is `fails`.
import { createServer } from 'node:http'

if (process.env.FIXTURE === 'fails') throw new Error(`the fixture fails${process.env.HOSTILE ?? ''}`)

process.on('disconnect', () => process.exit(0))
process.on('SIGTERM', () => process.exit(0))
console.log('an ordinary line')
console.log(JSON.stringify({ level: 'warn', msg: 'a warning' }))
// Imitates a log message that quotes a client.
if (process.env.HOSTILE) console.log(JSON.stringify({ level: 'error', msg: process.env.HOSTILE }))

const port = process.env.FIXTURE === 'worker' ? 0 : Number(process.env.API_PORT)
const server = createServer((_request, response) => response.end(JSON.stringify(process.env)))
server.listen(port, '127.0.0.1', () => process.send?.({ type: 'ready' }))
