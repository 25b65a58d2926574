/**
 * Hours after which nothing writes any more for a request that began before files were removed. An upload address is
 * valid for 5 minutes, and an upload takes a day at most. Requests of our own processes end sooner.
 */
export const lastWriteHours = 25
