"""The URLs in archived HTML and CSS: found, and replaced.

One walk over the octets calls a function for each URL. `embedded_in` collects what it is called
with; `rewritten` writes the document back with what it returns, and without whatever could run
or reach out. Nothing here makes a request, and no script is ever run.
"""

from timegate.markup.documents import Rewritten as Rewritten
from timegate.markup.documents import embedded_in as embedded_in
from timegate.markup.documents import is_stylesheet as is_stylesheet
from timegate.markup.documents import is_walkable as is_walkable
from timegate.markup.documents import rewritten as rewritten
from timegate.markup.model import EmbeddedUrl as EmbeddedUrl
from timegate.markup.model import Kind as Kind
from timegate.markup.model import Role as Role
from timegate.markup.model import TooComplex as TooComplex
