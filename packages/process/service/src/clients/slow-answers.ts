import type { ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { measuringPeriod, Patience, type TransferLimits } from './slow-transfers.ts'

/**
 * Returns a function that watches the answer of a request: it destroys the socket when the client takes the answer too
 * slowly. Then the answer is closed, and whatever was reserved for it is released.
 *
 * Waiting counts only while bytes wait in the socket, because a handler that still works is not the client's fault. All
 * answers have one timer, because thousands of requests may wait for something.
 */
export function watchAnswers(limits: TransferLimits): (response: ServerResponse) => void {
  const open = new Map<ServerResponse, Patience>()
  let timer: NodeJS.Timeout | undefined

  const measure = () => {
    for (const [response, patience] of open) {
      const { socket } = response.req
      if (!socket.destroyed && patience.exceeded(bytesTaken(socket), socket.writableLength > 0)) socket.destroy()
    }
  }

  return (response) => {
    open.set(response, new Patience(limits, bytesTaken(response.req.socket)))
    timer ??= setInterval(measure, measuringPeriod(limits)).unref()
    response.once('close', () => {
      open.delete(response)
      if (open.size > 0) return
      clearInterval(timer)
      timer = undefined
    })
  }
}

/**
 * Returns the number of bytes that the kernel has taken for the client. The public properties of a socket count whole
 * chunks only, and most answers are a single chunk. Node measures its own idle sockets by the same counters.
 */
function bytesTaken(socket: Socket): number {
  const { _handle: handle } = socket as Socket & { _handle: { bytesWritten: number; writeQueueSize: number } | null }
  return handle === null ? 0 : handle.bytesWritten - handle.writeQueueSize
}
