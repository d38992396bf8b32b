/** What code lenses do when they are clicked: show the places that they are about. */

import * as vscode from "vscode";

interface Position {
  line: number;
  character: number;
}

interface Location {
  uri: string;
  range: { start: Position; end: Position };
}

/** Show `places` in a peek at `position` of the document `uri`; the arguments are in the protocol's form. */
export async function showPlaces(uri: string, position: Position, places: Location[]): Promise<void> {
  const locations = places.map(
    ({ uri: place, range }) =>
      new vscode.Location(vscode.Uri.parse(place), new vscode.Range(converted(range.start), converted(range.end))),
  );
  const at = converted(position);
  await vscode.commands.executeCommand("editor.action.showReferences", vscode.Uri.parse(uri), at, locations);
}

function converted({ line, character }: Position): vscode.Position {
  return new vscode.Position(line, character);
}
