import { once } from 'node:events'
import { createServer, get } from 'node:http'
import type { AddressInfo } from 'node:net'
import { flushTraces } from '@sluice/traces'

// Serves one request whose address is the first argument, sends that request, and ends when its spans were sent.
const server = createServer((_request, response) => response.end())
server.listen(0, '127.0.0.1')
await once(server, 'listening')
const { port } = server.address() as AddressInfo
const [response] = await once(get(`http://127.0.0.1:${port}${process.argv[2]}`), 'response')
await once(response.resume(), 'end')
server.close()
await flushTraces()
