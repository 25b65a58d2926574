import { printableJson } from '@sluice/client-cli/printable'
import { type Rows, table } from '@sluice/client-cli/text'
import type { Command } from 'commander'

/** Prints a command's result (design.md §2, Output): the document if `--json` is given, else the text for people. */
export function print(command: Command, document: unknown, text: () => string): void {
  process.stdout.write(`${isJson(command) ? printableJson(document) : text()}\n`)
}

/** Prints as {@link print} does, with a text that may take time. */
export async function printLater(
  command: Command,
  document: unknown,
  text: () => string | Promise<string>,
): Promise<void> {
  const shown = isJson(command) ? '' : await text()
  print(command, document, () => shown)
}

/** Returns whether the result is for programs. */
export function isJson(command: Command): boolean {
  return command.optsWithGlobals<{ json?: boolean }>().json === true
}

/**
 * Prints a list as {@link print} does. Its table fits the terminal, unless `--wide` is given. A terminal that does not
 * know its size, as in a container, counts as one of 80 columns.
 */
export function printList(command: Command, document: unknown, rows: Rows, empty: string): void {
  const isCut = process.stdout.isTTY && command.opts<{ wide?: true }>().wide !== true
  print(command, document, () => table(rows, empty, isCut ? process.stdout.columns || 80 : undefined))
}
