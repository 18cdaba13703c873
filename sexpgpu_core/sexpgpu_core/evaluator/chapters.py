"""Words of the standard whose chapters are loaded when a text first names one of them."""

from __future__ import annotations

from .definitions import CHAPTERS

OBJECTS = """
add-method allocate-instance built-in-class call-method call-next-method change-class class
class-name class-of compute-applicable-methods condition-class defclass defgeneric
define-method-combination defmethod ensure-generic-function find-class find-method
function-keywords generic-function initialize-instance invalid-method-error make-instance
make-instances-obsolete make-load-form make-method method method-combination
method-combination-error method-qualifiers next-method-p no-applicable-method no-next-method
print-object reinitialize-instance remove-method shared-initialize slot-boundp slot-exists-p
slot-makunbound slot-missing slot-unbound slot-value standard-class standard-generic-function
standard-method standard-object structure-class update-instance-for-different-class
update-instance-for-redefined-class with-accessors with-slots
"""

CHAPTERS.update(dict.fromkeys(OBJECTS.upper().split(), ".objects"))
