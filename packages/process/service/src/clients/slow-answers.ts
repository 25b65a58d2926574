import type { ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { type TransferLimits, watchTransfer } from './slow-transfers.ts'

/**
 * Destroys the socket of a request when the client takes the answer too slowly. Then the answer is closed, and whatever
 * was held for it is released.
 *
 * Waiting counts only while bytes wait in the socket, because a handler that still works is not the client's fault.
 */
export function endWhenUnread(socket: Socket, response: ServerResponse, limits: TransferLimits): void {
  const stop = watchTransfer(
    {
      bytes: () => bytesTaken(socket),
      waitsForClient: () => socket.writableLength > 0,
      isOver: () => socket.destroyed,
    },
    limits,
    () => socket.destroy(),
  )
  response.once('close', stop)
}

/**
 * Returns the number of bytes that the kernel has taken for the client. The public properties of a socket count whole
 * chunks only, and most answers are a single chunk. Node measures its own idle sockets by the same counters.
 */
function bytesTaken(socket: Socket): number {
  const { _handle: handle } = socket as Socket & { _handle: { bytesWritten: number; writeQueueSize: number } | null }
  return handle === null ? 0 : handle.bytesWritten - handle.writeQueueSize
}
